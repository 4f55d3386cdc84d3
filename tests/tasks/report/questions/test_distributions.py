"""Distributions: also for pictures without factors (Duan et al. 2020, Figure 12)."""

from __future__ import annotations

import pandas as pd
import pytest

from tasks.report.page import sections
from tasks.report.questions import QUESTIONS, Figures
from tasks.report.questions.distributions import MOST_OF_PAGE, points_per_cell
from tasks.report.results import Column, read_results
from tests.tasks.report.conftest import Grid, MakeStore

GRID = Grid(
    data=("photos",),
    sources={"photos": "user"},
    methods={"beta_vae": (1.0, 2.0, 4.0)},
    seeds=13,
    metrics=("unsupervised",),
    pools=("cell",),
    pictures=False,
    curves=False,
)


def test_pictures_without_factors_have_udr_by_strength(make_store: MakeStore) -> None:
    results = read_results(make_store(GRID), GRID.study())
    answered = {part.name: part for section in sections(results, QUESTIONS) for part in section}
    assert not answered.keys() & {"quality", "fairness", "udr_versions", "fewer_comparisons"}
    assert {"distributions", "ranking", "per_informative", "best"} <= answered.keys()
    (figures,) = (c for c in answered["distributions"].answer.content if isinstance(c, Figures))
    assert results.udr is not None
    (figure,) = (f for f in figures.groups[0].figures if f.title == results.udr.title)
    by_strength = figure.data.groupby("strength")[results.udr.id]
    assert dict(by_strength.size()) == {1.0: 13, 2.0: 13, 4.0: 13}
    svg = figure.drawing.svg
    assert all(f">{strength}<" in svg for strength in (1, 2, 4))


@pytest.mark.parametrize(("cells", "scores", "most"), [(1, 1, 60), (100, 4, 60), (252, 12, 7)])
def test_a_page_has_no_more_points_than_it_can_hold(cells: int, scores: int, most: int) -> None:
    models = pd.DataFrame({"strength": range(cells)}).assign(data="d", source="s", method="m")
    columns = [Column(f"c{place}", "") for place in range(scores)]
    assert points_per_cell(models, columns) == most
    assert cells * scores * most <= MOST_OF_PAGE
