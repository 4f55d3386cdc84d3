"""Joint embeddings: which cells, which points, and where they are drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tasks.report import embeddings
from tasks.report.dynamics import compared_cells
from tasks.report.embeddings import read_embedding
from tasks.report.figures.clouds import EDGE, SIDE, Cloud, clouds_plot
from tasks.report.questions import Figures
from tasks.report.questions.joint_embeddings import answer, chosen
from tasks.report.results import Results, read_results
from tests.tasks.report.conftest import SAMPLES, SNAPSHOTS, Grid, MakeStore, fill_dynamics

GRID = Grid(
    data=("dsprites",),
    methods={"beta_vae": (1.0, 4.0)},
    latents=(2, 4, 8, 16, 32),
    seeds=3,
    metrics=("mig",),
    curves=False,
    pictures=False,
)


def results_of(make_store: MakeStore, grid: Grid = GRID, **changes: Any) -> Results:
    """Rising with strength, and with the distance from 4 latents."""
    store = make_store(grid)
    fill_dynamics(store, lambda c, *_: c["strength"] + abs(c["latents"] - 4) / 100, **changes)
    return read_results(store, grid.study())


def figures_of(results: Results) -> list[Any]:
    drawn = [c for c in answer(results).content if isinstance(c, Figures)]
    return [figure for one in drawn for group in one.groups for figure in group.figures]


def test_the_ends_and_a_sweep_of_latents_are_chosen(make_store: MakeStore) -> None:
    cells = compared_cells(results_of(make_store))
    why = {
        (cells.table["latents"][place], cells.table["strength"][place]): reason
        for place, reason in chosen(cells).items()
    }
    assert why == {
        (4, 1): "Most stable",
        (32, 4): "Least stable",
        **dict.fromkeys([(2, 1), (16, 1), (32, 1)], "Same strength"),
    }
    one = compared_cells(results_of(make_store, replace(GRID, latents=(4,))))
    assert list(chosen(one).values()) == ["Most stable", "Least stable"]


def test_every_point_is_where_the_table_has_it(make_store: MakeStore) -> None:
    """fill_dynamics puts a sample at its positions, moved by 0.1 per seed and 1 per snapshot."""
    figure = figures_of(results_of(make_store))[0]
    data = figure.data
    assert len(data) == 3 * SAMPLES * SNAPSHOTS
    snapshot = data["step"] / 40 - 1
    moved = 0.1 * data["seed"] + snapshot
    np.testing.assert_allclose(data["x"], data["sample"] % 4 + moved, rtol=1e-5)
    np.testing.assert_allclose(data["y"], data["sample"] // 4 + moved, rtol=1e-5)
    assert "3 seeds: " in figure.subtitle and "points" not in figure.subtitle


def test_of_many_points_the_same_are_drawn_of_each_model(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "MOST_POINTS", 30)
    figure, *_ = figures_of(results_of(make_store))
    assert f", 30 of {3 * SAMPLES * SNAPSHOTS} points" in figure.subtitle
    drawn = [set(zip(m["step"], m["sample"], strict=True)) for _, m in figure.data.groupby("seed")]
    assert len(drawn[0]) == 10 and drawn[0] == drawn[1] == drawn[2]


def test_more_seeds_than_colours(make_store: MakeStore) -> None:
    grid = replace(GRID, latents=(4,), methods={"beta_vae": (1.0,)}, seeds=12)
    by_seed, first, second, together = figures_of(results_of(make_store, grid))
    assert by_seed.subtitle.startswith("10 of 12 seeds: ")
    assert by_seed.drawing.svg.count('<path style="stroke:var(--m') == 10 * 6
    assert (first.title[:6], second.title[:6]) == ("Seed 0", "Seed 1")
    assert together.title.startswith("10 seeds together")


def test_places_are_of_the_positions_or_of_the_first_factors_that_vary(
    make_store: MakeStore,
) -> None:
    def embedding(names: tuple[str, ...]) -> Any:
        results = results_of(make_store, factor_names=names)
        cells = compared_cells(results)
        return read_embedding(results.store, cells.compared[0].models)

    of_positions = embedding(("shape", "position_x", "position_y"))
    assert of_positions.place_name == "position_x + 4 · position_y"
    x, y = of_positions.samples % 4, of_positions.samples // 4
    np.testing.assert_allclose(of_positions.places, (x + 4 * y) / 16)
    of_others = embedding(("shape", "size"))
    assert of_others.place_name == "shape + 3 · size"
    shape = of_others.samples % 3
    np.testing.assert_allclose(of_others.places, (shape + 3 * x) / 12)
    assert embedding(()).places is None


def test_without_factors_nothing_is_coloured_by_them(make_store: MakeStore) -> None:
    titles = [f.title for f in figures_of(results_of(make_store, factor_names=()))]
    assert len(titles) == 5 and not any("Seed" in title for title in titles)


def test_points_are_drawn_in_their_box() -> None:
    low, high = np.array([0.0, 0.0]), np.array([2.0, 4.0])
    drawing = clouds_plot(
        [Cloud("--m0", np.array([[0, 0], [2, 4], [1, 1]], float))], (low, high), "x"
    )
    dots = [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", drawing.svg)]
    inner = SIDE - 2 * EDGE
    assert dots == [
        (EDGE, EDGE + inner),
        (EDGE + inner, EDGE),
        (EDGE + inner / 2, EDGE + 0.75 * inner),
    ]
    flat = clouds_plot([Cloud("--m0", np.ones((3, 2)))], (np.ones(2), np.ones(2)), "flat")
    assert "nan" not in flat.svg
