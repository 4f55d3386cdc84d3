"""The variance that categories explain."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tasks.report.questions.variance_explained import answer
from tasks.report.results import read_results
from tasks.report.variance import variance_explained
from tests.tasks.report.conftest import Grid, MakeStore


def test_variance_explained_is_that_of_least_squares() -> None:
    draws = np.random.default_rng(3)
    rows = pd.DataFrame({"method": draws.choice(list("abc"), 60), "strength": 1.0})
    rows["score"] = draws.normal(size=60) + rows["method"].map({"a": 0, "b": 1, "c": 3})
    design = (rows["method"].to_numpy()[:, None] == np.array(list("abc"))).astype(float)
    fitted = design @ np.linalg.lstsq(design, rows["score"].to_numpy(), rcond=None)[0]
    residual = ((rows["score"] - fitted) ** 2).sum()
    wanted = 1 - residual / ((rows["score"] - rows["score"].mean()) ** 2).sum()
    assert 0.2 < wanted < 0.95
    assert variance_explained(rows, "score", ["method"]) == pytest.approx(wanted)
    assert variance_explained(rows, "score", ["strength"]) is None


def test_ours_is_of_the_papers_cells_and_the_average_of_what_is_computed(
    make_store: MakeStore,
) -> None:
    grid = Grid(seeds=6, sources={"dsprites": "look-alike"}, pictures=False, curves=False)
    rows = answer(read_results(make_store(grid), grid.study())).published
    assert len(rows) == 2 * (7 * 6 + 1), "every number of the table, and its averages"
    computed = [row for row in rows if row.ours is not None]
    assert len(computed) == 2 * (2 * 2 + 1)
    look_alikes = [row for row in computed if "look-alike" in row.what]
    assert {row.grid for row in look_alikes} == {"look-alike data"} and len(look_alikes) == 4
    own = next(row for row in computed if row.what.startswith("Color-dSprites, MIG"))
    assert own.grid == "fewer steps" and "120 steps, the papers 300,000" in own.why_not
    for title, published in (("by method", 0.37), ("by method × strength", 0.59)):
        *each, average = (row for row in computed if row.what.endswith(title))
        assert "4 pairs of data set and metric (the paper: 42)" in average.what
        assert average.ours == pytest.approx(np.mean([row.ours for row in each]))
        assert average.published == published
        assert average.interval and average.interval.low < average.ours < average.interval.high
    missing = [row for row in rows if row.ours is None]
    assert {row.grid for row in missing} == {"not computed"}
    assert missing[0].why_not == "no models on Cars3D with BetaVAE score"


def test_two_seeds_have_a_number_but_no_interval(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), seeds=2, pictures=False, curves=False)
    rows = answer(read_results(make_store(grid), grid.study())).published
    computed = [row for row in rows if row.ours is not None]
    assert computed and all(row.interval is None for row in computed)
