"""Failed models, by cell and reason."""

from __future__ import annotations

from dataclasses import replace

from tasks.report.frames import read_frames
from tasks.report.questions.failures import failures
from tests.tasks.report.conftest import Grid, MakeStore

GRID = Grid(seeds=8, pictures=False)


def test_failures_of_a_cell_with_one_reason_are_one_row(make_store: MakeStore) -> None:
    reasons = {("dsprites", "beta_vae", 1.0, seed): "too hot" for seed in (0, 2)}
    reasons[("dsprites", "beta_vae", 1.0, 3)] = "too cold"
    grid = replace(GRID, diverged=reasons)
    rows = failures(read_frames(make_store(grid), grid.study()))
    assert [(row.reason, row.seeds) for row in rows] == [("too hot", (0, 2)), ("too cold", (3,))]
