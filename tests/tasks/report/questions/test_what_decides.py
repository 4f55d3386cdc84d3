"""Parts of the variance of made-up scores whose parts are planted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tasks.report.questions import Table
from tasks.report.questions.what_decides import (
    Shares,
    answer,
    finding,
    methods_apart,
    same_best_cell,
    shares_table,
    variance_shares,
)
from tasks.report.results import Column, read_results
from tests.tasks.report.conftest import Grid, MakeStore

METRIC, OTHER = Column("mig", "MIG"), Column("sap", "SAP")


def grid(
    draws: np.random.Generator,
    method: float,
    strength: float,
    methods: int = 6,
    strengths: int = 6,
    seeds: int = 50,
) -> pd.DataFrame:
    """Scores of variance 1, of which the method has this share and the strength that."""
    of_methods = draws.normal(size=methods)
    of_methods = (of_methods - of_methods.mean()) / max(of_methods.std(), 1e-9) * np.sqrt(method)
    of_strengths = draws.normal(size=(methods, strengths))
    of_strengths -= of_strengths.mean(axis=1, keepdims=True)
    of_strengths *= np.sqrt(strength) / max(of_strengths.std(), 1e-9)
    noise = draws.gamma(2, size=(methods, strengths, seeds)) / np.sqrt(2)  # skewed, as scores are
    rest = np.sqrt(1 - method - strength) * (noise - np.sqrt(2))
    scores = of_methods[:, None, None] + of_strengths[..., None] + rest
    places = np.indices(scores.shape).reshape(3, -1)
    keys = dict(zip(("method", "strength", "seed"), places, strict=True))
    models = pd.DataFrame({**keys, METRIC.id: scores.ravel()})
    models["method"] = "m" + models["method"].astype(str)
    return models.assign(data="dsprites", source="redrawn")


def only(models: pd.DataFrame) -> Shares:
    (row,) = variance_shares(models, [METRIC])
    return row


def test_planted_shares_are_found() -> None:
    row = only(grid(np.random.default_rng(0), 0.4, 0.2))
    assert row.models == 1800
    assert row.method == pytest.approx(0.4, abs=0.03)
    assert row.cell == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize(("seeds", "strengths"), [(50, 6), (5, 6)])
def test_intervals_cover_the_truth_in_about_95_of_100_studies(seeds: int, strengths: int) -> None:
    draws, covered, studies = np.random.default_rng(4), np.zeros(2), 100
    for _ in range(studies):
        row = only(grid(draws, 0.4, 0.2, strengths=strengths, seeds=seeds))
        assert row.method_interval and row.cell_interval
        for place, (truth, bounds) in enumerate(
            ((0.4, row.method_interval), (0.6, row.cell_interval))
        ):
            covered[place] += bounds.low <= truth <= bounds.high
    assert (covered / studies >= 0.87).all() and (covered / studies < 1).all()


def test_seeds_alone_explain_nothing_however_few_they_are() -> None:
    """The plain R² of 36 cells of two seeds is 0.5 by chance."""
    draws = np.random.default_rng(5)
    cells = [only(grid(draws, 0.0, 0.0, seeds=2)).cell for _ in range(40)]
    assert np.mean(cells) < 0.13
    assert only(grid(draws, 0.0, 0.0, seeds=2)).cell_interval is None, "two seeds say too little"


def test_cells_of_unequal_size_have_the_shares_of_least_squares() -> None:
    """Without the correction, and with many seeds, the shares are R² on the categories."""
    draws = np.random.default_rng(6)
    models = grid(draws, 0.3, 0.3, seeds=400)
    models = models[draws.random(len(models)) < np.where(models["method"] == "m0", 0.2, 0.9)]
    row = only(models)
    for share, by in ((row.method, ["method"]), (row.cell, ["method", "strength"])):
        fitted = models.groupby(by)[METRIC.id].transform("mean")
        wanted = 1 - ((models[METRIC.id] - fitted) ** 2).mean() / models[METRIC.id].var(ddof=0)
        assert share == pytest.approx(wanted, abs=0.004)


@pytest.mark.parametrize(
    ("methods", "strengths", "wanted"),
    [
        (6, 6, ["the method explains ", "; with the strength, ", "method and strength explain "]),
        (1, 6, ["the strength explains ", "scores, the strength explains "]),
        (6, 1, ["the method explains ", "scores, the method explains "]),
    ],
)
def test_only_what_varies_explains(methods: int, strengths: int, wanted: list[str]) -> None:
    share = (0.4 * (methods > 1), 0.2 * (strengths > 1))
    models = grid(np.random.default_rng(1), *share, methods, strengths, seeds=20)
    models[OTHER.id] = models[METRIC.id] ** 2
    rows = variance_shares(models, [METRIC, OTHER])
    text = finding("dsprites", rows).text
    assert [words for words in wanted if words in text] == wanted
    assert ("; with the strength" in text) is (methods > 1 and strengths > 1)
    assert (shares_table(rows).rows[0].cells[2].text == "–") is (methods == 1)


def test_methods_that_stand_above_all_others_are_counted() -> None:
    models = grid(np.random.default_rng(7), 0.97, 0.0, seeds=20)
    models[OTHER.id] = np.random.default_rng(8).normal(size=len(models))
    assert methods_apart(models, [METRIC]) == (1, 1)
    assert methods_apart(models, [METRIC, OTHER]) == (1, 2)


def test_the_best_cell_of_one_score_is_looked_for_in_the_others() -> None:
    models = grid(np.random.default_rng(9), 0.5, 0.4)
    models[OTHER.id] = np.exp(models[METRIC.id])
    assert same_best_cell(models, [METRIC, OTHER]) == (2, 2)
    models[OTHER.id] = -models[METRIC.id]
    assert same_best_cell(models, [METRIC, OTHER]) == (0, 2)


def test_the_paper_stands_beside_long_trainings_only(make_store: MakeStore) -> None:
    for steps, there in ((100, False), (300_000, True)):
        grid = Grid(seeds=4, steps=steps, pictures=False, curves=False)
        _, *content = answer(read_results(make_store(grid), grid.study())).content
        table, *_ = (part for part in content if isinstance(part, Table))
        below = [line for row in table.rows for cell in row.cells for line in cell.below]
        assert any("paper" in line for line in below) == there


def test_the_papers_shares_are_given_with_the_models_behind_both() -> None:
    models = grid(np.random.default_rng(0), 0.4, 0.2, seeds=5)
    models = models.assign(**{"metric dci": models[METRIC.id]})
    rows = variance_shares(models, [METRIC, Column("dci", "DCI disentanglement")])
    text = str(finding("dsprites", rows, 300_000).text)
    assert "of the variance of DCI disentanglement; with the strength" in text
    assert ". The paper’s 41% and 77% are plain R² of 1,800 models; this study has 180. " in text
    short = str(finding("dsprites", rows, 300).text)
    assert "this study has 180 of 300 steps in place of 300,000. " in short
    assert "paper" not in finding("dsprites", rows).text, "look-alikes"
    own = [Shares(**{**vars(row), "data": "mine"}) for row in rows]
    assert "paper" not in finding("mine", own, 300_000).text
