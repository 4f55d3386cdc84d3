"""How often a transferred choice wins."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.report.questions.transfer import beats_random


def test_a_choice_that_always_wins_beats_random_always() -> None:
    clear = np.array([[0.9, 0.91, 0.92], [0.5, 0.51, 0.52], [0.1, 0.11, 0.12]])
    tables = {("x", "mig"): clear, ("y", "mig"): clear, ("x", "sap"): -clear}
    assert beats_random(tables, True, True) == 1.0
    assert beats_random(tables, True, False) == 1.0
    opposite = beats_random(tables, False, True)
    assert opposite == pytest.approx(1 / 3, abs=0.03)  # only a tie with itself
    assert beats_random({("x", "mig"): clear}, False, False) is None
