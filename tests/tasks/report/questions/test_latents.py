"""Uninformative latents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tasks.report.published import NEVER_OFF, SWITCHED_OFF
from tasks.report.questions import Table
from tasks.report.questions.latents import answer, of_models, switched_off
from tasks.report.results import read_results
from tests.tasks.report.conftest import LATENTS, Grid, MakeStore


def test_switched_off_latents_by_hand() -> None:
    wide = pd.DataFrame(
        {
            "method": ["beta_vae", "beta_vae", "factor_vae", "factor_vae"],
            "informative": [10.0, 6.0, 5.0, np.nan],
            "latents": [10, 10, 10, 4],
        }
    )
    every, beta, factor = switched_off(wide)
    assert (every.method, beta.method, factor.method) == ("", "beta_vae", "factor_vae")
    assert (every.mean, every.deviation, every.models) == (3.0, pytest.approx(7**0.5), 3)
    assert (beta.mean, beta.deviation) == (2.0, pytest.approx(8**0.5))
    assert (factor.mean, factor.deviation, factor.models) == (5.0, None, 1)
    without = of_models(wide[wide["method"] != "beta_vae"])
    assert without and (without.mean, without.models) == (5.0, 1)
    assert len(switched_off(wide.iloc[:2])) == 1, "one method is not listed twice"
    assert switched_off(wide.assign(informative=np.nan)) == []


def test_the_papers_mean_stands_beside_ours_without_dip_vae_i(make_store: MakeStore) -> None:
    methods = {"beta_vae": (1.0, 4.0), NEVER_OFF: (1.0,)}
    grid = Grid(data=("dsprites",), methods=methods, seeds=6, steps=300_000)
    results = read_results(make_store(grid), grid.study())
    models = results.models
    (row,) = answer(results).published
    others = LATENTS - models.loc[models["method"] == "beta_vae", "informative"]
    assert (row.ours, row.n) == (pytest.approx(others.mean()), 12)
    table = answer(results).content[-1]
    assert isinstance(table, Table)
    (beta, dip, every, without) = ([c.value for c in r.cells[1:]] for r in table.rows)
    assert table.rows[3].cells[0].text == "All but DIP-VAE-I"
    assert without == beta == [pytest.approx(others.mean()), 12] and dip[1] == 6
    assert every == [pytest.approx((LATENTS - models["informative"]).mean()), 18]
    assert row.ours != pytest.approx((LATENTS - models["informative"]).mean())
    assert (row.published, row.deviation) == SWITCHED_OFF and row.grid == "partial grid"
    assert row.interval and row.interval.low < others.mean() < row.interval.high
    alone = Grid(data=("dsprites",), methods={NEVER_OFF: (1.0,)}, steps=300_000)
    (row,) = answer(read_results(make_store(alone), alone.study())).published
    assert row.ours is None and row.why_not == "no method but DIP-VAE-I"
