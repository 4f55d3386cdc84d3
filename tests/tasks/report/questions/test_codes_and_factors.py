"""Figure 5 of Eastwood and Williams 2018: which codes stand against which factors, and where."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.report.figures.densities import PIXELS, PLACES, Panel, counts, density_panels
from tasks.report.kinds import IMPORTANCE, RegressorScores, by_data
from tasks.report.questions import Figures
from tasks.report.questions.codes_and_factors import (
    answer,
    chosen_codes,
    read_points,
)
from tasks.report.results import read_results
from tests.tasks.report import teapots
from tests.tasks.report.conftest import MakeStore, blank_column, without
from tests.tasks.report.questions.test_kinds_of_models import GRID, LATENTS, results_of

RUN = re.compile(r"M(\d+) (\d+)h(\d+)")


def test_each_factor_stands_against_its_most_important_codes(make_store: MakeStore) -> None:
    results = results_of(make_store)
    (figures,) = (c for c in answer(results).content if isinstance(c, Figures))
    (group,) = figures.groups
    models = [("pca", 0.0), ("beta_vae", 1.0), ("beta_vae", 6.0), ("infogan", 6.0)]
    for figure, model in zip(group.figures, models, strict=True):
        matrix = teapots.importance("dci_forest", *model, 0, LATENTS)
        best = np.argsort(-matrix, axis=0, kind="stable")
        wanted = [f"azimuth by z{code}" for code in best[:3, 0]]
        wanted += [f"{name} by z{best[0, j]}" for j, name in enumerate(teapots.FACTORS) if j]
        titles = re.findall(r">([a-z]+ by z\d)</text>", str(figure.drawing.svg))
        assert titles == wanted
        codes = teapots.codes(*model, 0, LATENTS)
        code = int(best[0, 1])
        np.testing.assert_allclose(figure.data[f"z{code}"], codes[:, code], atol=1e-4)
        np.testing.assert_allclose(figure.data["elevation"], teapots.factors()[:, 1], atol=1e-4)


def test_without_forests_the_lasso_tells(make_store: MakeStore) -> None:
    results = results_of(make_store, replace(GRID, metrics=("dci_lasso",)))
    (of_data,) = sets = by_data(results)
    scores = RegressorScores(results, sets, [IMPORTANCE])
    matrix = scores.main_importance(of_data.kinds[0].first, of_data.factors.names)
    assert matrix is not None
    planted = teapots.importance("dci_lasso", "pca", 0.0, 0, LATENTS)
    np.testing.assert_allclose(matrix, planted)
    assert chosen_codes(matrix, of_data)[0] == (0, int(planted[:, 0].argmax()))


def test_older_stores_have_no_factors(make_store: MakeStore) -> None:
    store = make_store(GRID)
    model_id = str(read_results(store, GRID.study()).models["model_id"].iloc[0])
    points = read_points(store, model_id)
    assert points and points[0].shape == (teapots.ROWS, LATENTS)
    blank_column(store, "representations", "factors", None)
    assert read_points(store, model_id) is None
    assert answer(read_results(store, GRID.study())).is_missing
    without("representations")(store)
    assert read_points(store, model_id) is None


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0, 1)), min_size=1, max_size=60))
def test_every_point_is_counted_once_and_drawn(points: list[tuple[float, float]]) -> None:
    across, up = np.array(points).T
    panel = Panel(across, up, (0.0, 1.0), "title", "subtitle")
    table, (low, high) = counts(panel)
    assert table.sum() == len(points)
    drawn = np.zeros_like(table, dtype=bool)
    for x, y, length in RUN.findall(str(density_panels([panel], "--m0", "name").svg)):
        first, row = int(x) // PIXELS, int(y) // PIXELS
        assert not drawn[row, first : first + int(length) // PIXELS].any()
        drawn[row, first : first + int(length) // PIXELS] = True
    np.testing.assert_array_equal(drawn, table > 0)
    for x, y in points:  # by hand: how far from the left, and from below
        column = min(int((x - low) / (high - low) * PLACES), PLACES - 1)
        row = PLACES - 1 - min(int(y * PLACES), PLACES - 1)
        assert table[row, column] > 0


def test_more_points_are_stronger() -> None:
    panel = Panel(np.array([0.0] * 4 + [1.0]), np.zeros(5), (0.0, 1.0), "a", "b")
    svg = str(density_panels([panel, panel], "--m3", "name").svg)
    assert svg.count("stroke-opacity:1.0") == svg.count("stroke-opacity:0.35") == 2
    assert "var(--m3)" in svg and "stroke-opacity:0.65" not in svg


def test_many_points_take_few_bytes() -> None:
    draws = np.random.default_rng(0)
    panel = Panel(draws.normal(size=5000), draws.random(5000), (0.0, 1.0), "a", "b")
    assert len(density_panels([panel] * 7, "--m0", "name").svg) < 250_000
