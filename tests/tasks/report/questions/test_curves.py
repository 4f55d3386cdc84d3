"""Training curves over seeds."""

from __future__ import annotations

import pytest

from tasks.report.frames import read_frames
from tasks.report.questions.curves import curve_summary
from tests.tasks.report.conftest import Grid, MakeStore

GRID = Grid(seeds=8, pictures=False)


def test_curves_are_medians_over_seeds(make_store: MakeStore) -> None:
    store = make_store(GRID)
    summary = curve_summary(read_frames(store, GRID.study()))
    raw = store.read("curves").to_pandas()
    row = summary.sample(1, random_state=1).iloc[0]
    same = raw[
        (raw.data == row.data)
        & (raw.method == row.method)
        & (raw.strength == row.strength)
        & (raw.step == row.step)
    ]
    assert len(same) == 8
    assert row["kl median"] == pytest.approx(same.kl.median())
    assert row["reconstruction min"] == pytest.approx(same.reconstruction.min())
    assert row["reconstruction max"] == pytest.approx(same.reconstruction.max())
