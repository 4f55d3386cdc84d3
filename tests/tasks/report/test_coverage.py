"""Which models a figure covers: planted numbers of missing, diverged and collapsed ones."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from markupsafe import Markup

from infra.store import Store
from tasks.report.coverage import Counts, Coverage
from tasks.report.figures.axes import Drawing
from tasks.report.frames import CELL, Frames
from tasks.report.questions import Figure, FigureGroup
from tasks.report.results import Results
from tests.tasks.report.conftest import Grid

SEEDS = 10
METHODS = {"beta_vae": (1.0, 4.0), "factor_vae": (10.0,)}
STATUS = {3: "diverged", 4: "failed", 8: "failed", 17: "diverged"}  # of models by place
WAITING = [29]  # places of models that have not ended
COLLAPSED = ["m00", "m05", "m12"]


@pytest.fixture
def results() -> Results:
    """Thirty models of each of two data sets; two of dSprites diverged and two failed."""
    rows = [
        {"data": data, "source": source, "method": method, "strength": strength, "seed": seed}
        for data, source in (("dsprites", "redrawn"), ("cars3d", "official"))
        for method, strengths in METHODS.items()
        for strength in strengths
        for seed in range(SEEDS)
    ]
    models = pd.DataFrame(rows)
    models["model_id"] = [f"m{place:02}" for place in range(len(models))]
    models["status"] = [STATUS.get(place, "trained") for place in range(len(models))]
    models = models.drop(index=WAITING)
    trained = models[models["status"] == "trained"]
    trained = trained.assign(score=0.5, collapsed=trained["model_id"].isin(COLLAPSED))
    study = Grid(data=("dsprites", "cars3d"), methods=METHODS, seeds=SEEDS).study()
    frames = Frames(models, *[pd.DataFrame()] * 4, older=0, outdated=[], parts=None)  # type: ignore[arg-type]
    return Results(Store("nowhere"), study, frames, trained, ())


def figure_of(rows: pd.DataFrame, **more: object) -> Figure:
    data = rows[["model_id", *CELL, "seed", "score"]]
    return Figure("", "", Drawing(Markup(""), 352, "x"), data, **more)  # type: ignore[arg-type]


def of_data(results: Results, name: str = "dsprites") -> pd.DataFrame:
    return results.models[results.models["data"] == name]


def test_models_are_counted_by_why_they_are_missing(results: Results) -> None:
    rows = of_data(results)
    rows = rows.assign(score=rows["score"].where(~rows["model_id"].isin(["m05", "m06", "m07"])))
    assert Counts(results).of(figure_of(rows)) == Coverage(
        data_sets=(("dsprites", "redrawn"),),
        drawn=30 - 2 - 2 - 3 - 1,
        collapsed=2,  # the third has no score
        diverged=2,
        failed=2,
        without=3,
        waiting=1,
    )


def test_what_a_figure_leaves_out_on_purpose_is_not_missing(results: Results) -> None:
    rows = of_data(results)
    of_method = figure_of(rows[rows["method"] == "factor_vae"], among=("data", "source", "method"))
    covered = Counts(results).of(of_method)
    assert (covered.drawn, covered.missing, covered.waiting) == (9, 1, 1)
    of_cell = figure_of(rows[(rows["strength"] == 4.0)], among=tuple(CELL))
    covered = Counts(results).of(of_cell)
    assert (covered.drawn, covered.missing, covered.diverged) == (9, 1, 1)


def test_points_that_are_no_models_name_those_behind_them(results: Results) -> None:
    medians = pd.DataFrame({"method": ["beta_vae"], "score": [0.5]})
    ids = results.models["model_id"]
    covered = Counts(results).of(Figure("", "", Drawing(Markup(""), 352, "x"), medians, models=ids))
    assert covered.data_sets == (("dsprites", "redrawn"), ("cars3d", "official"))
    assert (covered.drawn, covered.missing) == (55, 5)
    text = covered.text(hollow=False)
    assert "55 of 60 models of dSprites (redrawn), Cars3D (official); 5 missing" in text


def test_the_sentence_names_every_number_once(results: Results) -> None:
    def text(hollow: bool = False, **counts: int) -> str:
        known = {"drawn": 0, "collapsed": 0, "diverged": 0, "failed": 0, "without": 0, "waiting": 0}
        covered = Coverage((("dsprites", "redrawn"),), **{**known, **counts})
        return re.sub("<.*?>", "", covered.text(hollow))

    assert text(drawn=1800) == "1,800 models of dSprites (redrawn); none missing"
    assert text(drawn=1) == "1 model of dSprites (redrawn); none missing"
    assert text(drawn=1788, diverged=5, failed=4, without=2, waiting=1) == (
        "1,788 of 1,800 models of dSprites (redrawn); 12 missing: 5 diverged, 4 failed, "
        "2 without a value, 1 not run yet"
    )
    assert text(hollow=True, drawn=2, collapsed=1).endswith("; 1 collapsed, drawn hollow")
    assert text(drawn=2, collapsed=1).endswith("; 1 collapsed, included")


def test_figures_that_cover_the_same_share_a_line(results: Results) -> None:
    counts, rows = Counts(results), of_data(results)
    whole, part = figure_of(rows), figure_of(rows.iloc[:-1])
    about_whole, about_part = (counts.of(one).text(hollow=False) for one in (whole, part))
    lines = counts.lines([FigureGroup("", (whole, whole)), FigureGroup("", (whole,))])
    assert lines.all == f"Each figure: {about_whole}"
    assert not any(lines.groups) and not any(map(any, lines.figures))
    lines = counts.lines([FigureGroup("", (whole, part, whole)), FigureGroup("", (part,))])
    assert lines.all == ""
    assert lines.groups == [f"Each figure that does not say otherwise: {about_whole}", about_part]
    assert lines.figures == [["", about_part, ""], [""]]
    lines = counts.lines([FigureGroup("", (whole, part))])
    assert lines.groups == [""] and lines.figures == [[about_whole, about_part]]
