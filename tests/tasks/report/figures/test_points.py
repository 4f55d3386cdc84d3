"""What lies at the points of a drawing is what is drawn there."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from tasks.report.figures.colours import styles_of
from tasks.report.figures.lines import strength_lines
from tasks.report.figures.scatter import CROWD, scatter_plot
from tasks.report.figures.strips import MOST_POINTS, strip_plot

UNIT = (0.0, 1.0)
STYLES = styles_of(["beta_vae", "factor_vae"])


def models(seeds: int, collapsed: int = 0) -> pd.DataFrame:
    """Two methods with two strengths each; the first models are collapsed."""
    rows = pd.DataFrame(
        [
            {"method": method, "strength": strength, "seed": seed}
            for method in STYLES
            for strength in (1.0, 4.0)
            for seed in range(seeds)
        ]
    )
    draws = np.random.default_rng(3)
    return rows.assign(
        data="dsprites",
        source="redrawn",
        model_id=[f"m{place}" for place in range(len(rows))],
        a=draws.uniform(size=len(rows)),
        b=draws.uniform(size=len(rows)),
        collapsed=np.arange(len(rows)) < collapsed,
    )


def markers(svg: str) -> list[tuple[float, float]]:
    found = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"', svg)
    return sorted((float(x), float(y)) for x, y in found)


def hollow(svg: str) -> int:
    """Markers that are drawn as outlines."""
    return sum(
        group.count("<use")
        for group in re.findall(r'<g style="[^"]*stroke-width[^"]*">.*?</g>', svg)
    )


def places(rows: pd.DataFrame) -> list[tuple[float, float]]:
    return sorted(zip(rows["left"].tolist(), rows["top"].tolist(), strict=True))


def test_a_scatters_points_are_its_markers_and_know_their_models() -> None:
    rows = models(5, collapsed=3).assign(b=lambda rows: rows["b"].where(rows["seed"] != 2))
    drawing = scatter_plot(rows, "a", "b", (UNIT, UNIT), "A", STYLES, "x", up_title="B")
    points = drawing.points
    assert points is not None and points.are_models and len(points.rows) == 16
    assert np.allclose(markers(drawing.svg), places(points.rows), atol=0.01)
    by_id = rows.set_index("model_id").loc[points.rows["model_id"]]
    assert points.values["A"].tolist() == by_id["a"].tolist()
    assert points.values["B"].tolist() == by_id["b"].tolist()
    order = np.argsort(points.rows["left"].to_numpy())
    assert (np.diff(by_id["a"].to_numpy()[order]) > 0).all(), "further right is more"
    order = np.argsort(points.rows["top"].to_numpy())
    assert (np.diff(by_id["b"].to_numpy()[order]) < 0).all(), "higher up is more"
    assert hollow(drawing.svg) == 3 - 1, "the collapsed that have both scores"


def test_in_a_crowd_the_points_are_cells_at_their_medians() -> None:
    rows = models(CROWD // 4 + 1)
    points = scatter_plot(rows, "a", "b", (UNIT, UNIT), "A", STYLES, "x", up_title="B").points
    assert points is not None and not points.are_models
    medians = rows.groupby(["method", "strength"])["a"].median()
    assert points.values["A"] == pytest.approx(medians.to_numpy())


@pytest.mark.parametrize(("seeds", "drawn"), [(MOST_POINTS, 4 * MOST_POINTS), (61, 4)])
def test_a_strip_draws_every_model_until_they_are_too_many(seeds: int, drawn: int) -> None:
    drawing = strip_plot(models(seeds), "a", UNIT, STYLES, "x")
    points = drawing.points
    assert points is not None and len(points.rows) == drawn
    assert points.are_models == (drawn > 4) == bool(markers(drawing.svg))
    if points.are_models:
        assert np.allclose(markers(drawing.svg), places(points.rows), atol=0.01)


def test_a_strip_may_have_points_and_boxes() -> None:
    rows = models(6)
    rows = rows[(rows["strength"] == 4.0) | (rows["seed"] < 4)]
    points = strip_plot(rows, "a", UNIT, STYLES, "x", most=5).points
    assert points is not None
    of_cells = points.rows[points.rows["model_id"] == ""]
    assert of_cells["strength"].tolist() == [4.0, 4.0] and len(points.rows) == 2 * 4 + 2


def test_the_points_of_a_line_are_cells() -> None:
    sweeps = models(1).assign(place=lambda rows: rows["strength"].map({1.0: 1, 4.0: 2}))
    sweeps = sweeps.drop(columns=["model_id", "seed", "collapsed"])
    sweeps.loc[0, "a"] = np.nan
    drawing = strength_lines(sweeps, "a", (-3.0, 1.0), STYLES, "x", "A", powers=True)
    points = drawing.points
    assert points is not None and not points.are_models
    assert points.rows["method"].tolist() == ["beta_vae", "factor_vae", "factor_vae"]
    assert points.values["A"] == pytest.approx((10 ** sweeps["a"].iloc[1:]).tolist())
    assert np.allclose(markers(drawing.svg), places(points.rows), atol=0.01)
