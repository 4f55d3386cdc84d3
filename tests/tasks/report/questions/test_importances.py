"""Figure 3 of Eastwood and Williams 2018: squares with sides by planted importances."""

from __future__ import annotations

import re

import numpy as np
import pytest

from infra.store import Store
from tasks.report.figures.hinton import LARGEST, hinton_diagram
from tasks.report.questions import Figures
from tasks.report.questions.importances import answer
from tasks.report.results import read_results
from tests.tasks.report import teapots
from tests.tasks.report.conftest import MakeStore
from tests.tasks.report.questions.test_kinds_of_models import GRID, LATENTS, results_of

RECT = re.compile(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/>')


def squares(svg: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, found)) for found in RECT.findall(svg)]


def test_sides_are_proportional_and_squares_stand_in_their_cells() -> None:
    values = np.array([[1.0, 0.0, 0.25], [0.5, 0.001, 1.0]])
    svg = hinton_diagram(["a", "b"], ["x", "y", "z"], values, 1.0, "name").svg
    drawn = squares(str(svg))
    assert [width for _, _, width, _ in drawn] == pytest.approx(
        [LARGEST, LARGEST / 4, LARGEST / 2, LARGEST], abs=0.051
    )  # neither 0 nor what could not be seen
    assert all(width == height for _, _, width, height in drawn)
    middles = [(x + width / 2, y + width / 2) for x, y, width, _ in drawn]
    assert middles[0][0] == pytest.approx(middles[2][0], abs=0.11)  # the column x
    assert middles[1][0] == pytest.approx(middles[3][0], abs=0.11)  # the column z
    assert middles[0][1] == pytest.approx(middles[1][1], abs=0.11)  # the row a
    assert middles[2][1] > middles[0][1]


def test_titles_are_escaped_and_zeros_are_blank() -> None:
    svg = str(hinton_diagram(["<a>"], ["x&y"], np.zeros((1, 1)), 0.0, "name").svg)
    assert "&lt;a&gt;" in svg and "x&amp;y" in svg and not squares(svg)


def test_diagrams_are_of_the_first_seed_with_one_scale_per_regressor(make_store: MakeStore) -> None:
    (figures,) = (c for c in answer(results_of(make_store)).content if isinstance(c, Figures))
    assert len(figures.groups) == 2
    for group, metric in zip(figures.groups, ("dci_lasso", "dci_forest"), strict=True):
        models = [("pca", 0.0), ("beta_vae", 1.0), ("beta_vae", 6.0), ("infogan", 6.0)]
        planted = [teapots.importance(metric, *model, 0, LATENTS) for model in models]
        largest = max(matrix.max() for matrix in planted)
        for figure, matrix in zip(group.figures, planted, strict=True):
            data = figure.data
            assert set(data["seed"]) == {0} and list(data["code"]) == [
                f"z{latent}" for latent in range(LATENTS)
            ]
            np.testing.assert_allclose(data[list(teapots.FACTORS)], matrix)
            widths = [width for *_, width, _ in squares(str(figure.drawing.svg))]
            assert max(widths) == pytest.approx(LARGEST * matrix.max() / largest, abs=0.051)
            code = int(matrix[:, 1].argmax())
            assert f"elevation: z{code};" in figure.description


def test_a_matrix_with_holes_is_not_drawn(make_store: MakeStore) -> None:
    store: Store = make_store(GRID)
    for part in store.parts("scores"):
        rows = store.read("scores", keys=[part]).to_pylist()
        others = [row for row in rows if row["part"] != "importance latent 3"]
        columns = {name: [row[name] for row in others] for name in others[0]}
        store.write_part("scores", part, columns)
    assert answer(read_results(store, GRID.study())).is_missing
