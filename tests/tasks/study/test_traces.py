"""The section `traces`: which steps, which samples, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import data
from infra.errors import WrongInput
from models.recipe import CHUNK
from tasks.study.reading import parse_study
from tasks.study.sources import with_sources
from tasks.study.spec import Study
from tasks.study.traces import Traces, grid, snapshot_steps, traces_bytes

FACTORS = data.describe("dsprites")


def a_study(**changes: Any) -> Study:
    spec: dict[str, Any] = {"name": "t", "data": ["dsprites"], "methods": {"beta_vae": [1]}}
    return parse_study({**spec, **changes})


def test_fifty_snapshots_are_evenly_spaced_over_the_training() -> None:
    assert snapshot_steps(Traces(), 300_000) == tuple(range(6000, 300_001, 6000))
    assert snapshot_steps(Traces(every=100_000), 250_000) == (100_000, 200_000, 250_000)


@given(
    steps=st.integers(1, 5000), how=st.sampled_from(["count", "every"]), number=st.integers(1, 700)
)
def test_each_snapshot_is_at_the_end_of_a_chunk_and_the_last_of_the_training(
    steps: int, how: str, number: int
) -> None:
    found = snapshot_steps(Traces(**{how: number}), steps)
    assert list(found) == sorted(set(found)) and found[-1] == steps
    assert all(step % CHUNK == 0 for step in found[:-1])
    if how == "count":
        wanted = [math.ceil(steps * place / number) for place in range(1, number + 1)]
    else:
        wanted = [*range(number, steps, number), steps]
    assert set(found) == {
        next(end for end in (*range(CHUNK, steps, CHUNK), steps) if end >= step) for step in wanted
    }


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    samples=st.integers(8, 2000),
    chosen=st.data(),
)
def test_a_grid_has_every_combination_once_and_all_else_in_the_middle(
    sizes: list[int], samples: int, chosen: st.DataObject
) -> None:
    names = [f"f{place}" for place in range(len(sizes))]
    vary = chosen.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    points = grid(Traces(samples=samples, vary=tuple(vary)), names, sizes)
    side = max(n for n in range(1, samples + 1) if n ** len(vary) <= samples)
    varied = [names.index(name) for name in vary]
    assert len(points) == len(np.unique(points, axis=0)) <= samples
    assert len(points) == math.prod(min(side, sizes[place]) for place in varied)
    for place, size in enumerate(sizes):
        if place in varied:
            values = np.unique(points[:, place])
            assert (values[0], values[-1]) == (0, size - 1)
            assert len(values) < 2 or np.ptp(np.diff(values)) <= 1
        else:
            assert set(points[:, place].tolist()) == {size // 2}


def test_figure_3s_grid_of_positions() -> None:
    traces = Traces(vary=("position_x", "position_y"))
    points = grid(traces, FACTORS.factor_names, FACTORS.factor_sizes)
    assert points.shape == (22 * 22, len(FACTORS.factor_names))
    assert (points[1] - points[0]).tolist()[-1] > 0, "the last factor is the fastest"
    size = traces_bytes(traces, 300_000, FACTORS.factor_names, FACTORS.factor_sizes)
    assert size == 50 * 22 * 22 * 1280 * 2


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ({"count": 3, "every": 5}, "traces: found count 3 and every 5; accepted: one of them"),
        ({"count": 0}, "traces.count"),
        ({"layers": ["dense1", "dens2"]}, "dense2"),
        ({"layers": []}, "traces.layers"),
        ({"layers": ["dense1", "dense1"]}, "each value once"),
        ({"samples": 1}, "traces.samples"),
        ({"samples": 3, "vary": ["position_x", "position_y"]}, "at least 4"),
        ({"precision": "bfloat16"}, "traces.precision"),
        ({"cuont": 3}, "unknown key cuont"),
        (["dense1"], "a mapping"),
        ({"count": 1000, "layers": ["deconv3"], "samples": 512}, "at most 4 GB"),
    ],
)
def test_what_is_wrong_is_said(section: Any, named: str) -> None:
    with pytest.raises(WrongInput) as error:
        a_study(traces=section)
    assert named in str(error.value) and "\n" not in str(error.value)


def test_traces_change_no_id_and_bind_no_store() -> None:
    plain, traced = a_study(), a_study(traces={"every": 100})
    assert plain.traces is None
    ids = [[model.id for cell in s.cells() for model in cell.models] for s in (plain, traced)]
    assert ids[0] == ids[1]
    traced.must_extend(plain)
    plain.must_extend(traced)
    for study in (plain, traced, a_study(traces={})):
        assert parse_study(study.model_dump(mode="json")) == study


def test_factors_that_a_data_set_lacks_are_refused_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "cache"))
    with_sources(a_study(traces={"vary": ["position_x"]}))
    with pytest.raises(WrongInput, match=r"postion_x, no factor of dsprites.*position_y"):
        with_sources(a_study(traces={"vary": ["postion_x"]}))
    rng = np.random.default_rng(0)
    factors = np.array([(x, y) for x in range(3) for y in range(3) if (x, y) != (0, 0)])
    images = rng.integers(0, 256, (8, 64, 64, 1), np.uint8)
    np.savez(tmp_path / "own.npz", images=images, factors=factors, factor_names=["x", "y"])
    np.savez(tmp_path / "bare.npz", images=images)
    own = [{"images": str(tmp_path / "own.npz")}]
    with_sources(a_study(data=own, traces={"vary": ["x"]}))  # at y = 1, all are there
    with pytest.raises(WrongInput, match="factor combination"):
        with_sources(a_study(data=own, traces={"vary": ["x", "y"]}))
    with pytest.raises(WrongInput, match="no factors"):
        bare = [{"images": str(tmp_path / "bare.npz")}]
        with_sources(a_study(data=bare, traces={"vary": ["x"]}))
