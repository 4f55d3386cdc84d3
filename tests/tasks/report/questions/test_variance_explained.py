"""The variance that categories explain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tasks.report.questions.variance_explained import answer, variance_explained
from tasks.report.results import read_results
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


def test_only_the_papers_own_data_stand_beside_the_papers(make_store: MakeStore) -> None:
    grid = Grid(seeds=6, sources={"dsprites": "look-alike"}, pictures=False, curves=False)
    rows = answer(read_results(make_store(grid), grid.study())).published
    assert {row.what.split(",")[0].split(" over ")[0] for row in rows} == {
        "Color-dSprites",
        "Average",
    }
    assert len(rows) == 3 * 2, "metrics and their average; by method, and by method and strength"
    assert all("120 training steps are too few" in row.why_not for row in rows)
    large = replace(grid, steps=300_000)
    rows = answer(read_results(make_store(large), large.study())).published
    assert len(rows) == 3 * 2 and not any(row.why_not for row in rows)
    for by_category, published in ((rows[:3], 0.37), (rows[3:], 0.59)):
        *each, average = by_category
        assert "2 pairs of data set and metric (the paper: 42)" in average.what
        assert average.ours == pytest.approx(np.mean([row.ours for row in each]))
        assert average.published == published
