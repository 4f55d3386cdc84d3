"""Uninformative latents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tasks.report.questions.latents import switched_off


def test_switched_off_latents_by_hand() -> None:
    wide = pd.DataFrame(
        {
            "method": ["beta_vae", "beta_vae", "factor_vae", "factor_vae"],
            "informative": [10.0, 6.0, 5.0, np.nan],
        }
    )
    every, beta, factor = switched_off(wide, 10)
    assert (every.method, beta.method, factor.method) == ("", "beta_vae", "factor_vae")
    assert (every.mean, every.deviation, every.models) == (3.0, pytest.approx(7**0.5), 3)
    assert (beta.mean, beta.deviation) == (2.0, pytest.approx(8**0.5))
    assert (factor.mean, factor.deviation, factor.models) == (5.0, None, 1)
    assert len(switched_off(wide.iloc[:2], 10)) == 1, "one method is not listed twice"
    assert switched_off(wide.assign(informative=np.nan), 10) == []
