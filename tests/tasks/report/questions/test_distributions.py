"""The distribution of UDR by strength for pictures without factors: Duan et al. 2020, Figure 12."""

from __future__ import annotations

from tasks.report.page import sections
from tasks.report.questions import QUESTIONS, Figures
from tasks.report.results import read_results
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
