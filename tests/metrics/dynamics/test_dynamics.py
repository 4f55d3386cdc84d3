"""The score against brute force, what changes nothing in it, and groups that are told apart."""

from __future__ import annotations

import zlib
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics import dynamics as package
from metrics.base.arrays import BadArray
from metrics.dynamics import Dynamics, Settings, dynamics, prepared
from tests.metrics.dynamics import brute_force

Array = np.ndarray[Any, Any]
SMALL = Settings(snapshot_neighbours=2, t=3, draws=200)


def stream(purpose: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(purpose.encode()))


def made_up(models: int, n: int = 3, m: int = 4, units: int = 5, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(models, n, m, units))


def scored(traces: Any, chosen: Settings = SMALL) -> Dynamics:
    return dynamics(traces, chosen, stream)


@pytest.mark.parametrize("drop_first", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_the_score_is_that_of_the_dense_definition(
    drop_first: bool, scaled: bool, estimator: Any
) -> None:
    traces = made_up(3)
    chosen = Settings(
        snapshot_neighbours=2,
        t=3,
        drop_first=drop_first,
        scaled=scaled,
        estimator=estimator,
        kernel_bandwidth=0.8,
    )
    result = scored(traces, chosen)
    walks = [brute_force.walk(brute_force.kernel(model, 2, 5.0, 2)) for model in traces]
    vectors, values = brute_force.left_vectors(walks, 3, 2 + drop_first)
    first = int(drop_first)
    vectors, values = vectors[..., first:] * np.sqrt(3 * 12), values[first:]
    if scaled:
        vectors = vectors * values / values[0]
    assert result.singular_values == pytest.approx(values)
    ours = result.embeddings.reshape(3, 12, 2)
    signs = np.sign((ours * vectors).sum(axis=(0, 1)))
    assert ours == pytest.approx(vectors * signs, abs=1e-8)
    pairs = [
        brute_force.mmd(vectors[r], vectors[s], 0.8, estimator == "unbiased")
        for r, s in combinations(range(3), 2)
    ]
    assert result.pairs[np.triu_indices(3, 1)] == pytest.approx(pairs, abs=1e-10)
    assert result.score == pytest.approx(np.mean(pairs))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**31), st.data())
def test_orders_change_nothing(seed: int, data: st.DataObject) -> None:
    traces = made_up(3, m=6, seed=seed)
    score = scored(traces).score
    seeds, samples = (data.draw(st.permutations(range(size))) for size in (3, 6))
    units = [data.draw(st.permutations(range(5))) for _ in range(3)]
    permuted = [traces[r][:, samples][..., units[r]] for r in seeds]
    assert scored(permuted).score == pytest.approx(score, rel=1e-6, abs=1e-9)


def test_models_may_differ_in_units_and_precision() -> None:
    traces = made_up(3)
    wider = [np.pad(model, ((0, 0), (0, 0), (0, r))) for r, model in enumerate(traces)]
    assert scored(wider).score == pytest.approx(scored(traces).score)
    assert scored(traces.astype(np.float32)).score == pytest.approx(scored(traces).score, rel=1e-3)


@pytest.mark.parametrize("points", [0, 7])
def test_identical_traces_are_as_stable_as_can_be(points: int) -> None:
    traces = np.repeat(made_up(1, m=9), 4, axis=0)
    result = scored(traces, Settings(t=3, points=points))
    assert result.score == pytest.approx(0, abs=1e-12)
    assert result.interval == pytest.approx((0, 0), abs=1e-12)


def test_alike_models_score_lower_than_models_of_their_own() -> None:
    draws = np.random.default_rng(1)
    base = made_up(1, n=5, m=20, units=8)
    alike = base + 0.02 * draws.normal(size=(4, *base.shape[1:]))
    own = made_up(4, n=5, m=20, units=8, seed=2)
    for changed in ({}, {"t": 20}, {"dimensions": 5}, {"scaled": True}, {"estimator": "unbiased"}):
        a, b = (scored(traces, Settings(**changed)) for traces in (alike, own))  # type: ignore[arg-type]
        assert a.score < b.score / 2, changed
        if not changed:
            assert a.interval and b.interval and a.interval[1] < b.interval[0]


def test_dead_models_have_a_score() -> None:
    traces = made_up(3, n=4, m=5)
    traces[0] = 1.0
    traces[1, :, :3] = traces[1, :, :1]  # equal samples
    assert np.isfinite(scored(traces).score)
    assert scored(np.zeros((2, 3, 4, 5))).score == pytest.approx(0, abs=1e-12)


def test_models_without_room_are_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = made_up(3)
    score = scored(traces).score
    monkeypatch.setattr(package, "KEPT_BYTES", 1300)  # one model of the three
    assert scored(traces).score == score


def test_large_clouds_are_compared_by_a_sample_of_their_points() -> None:
    traces = made_up(3, n=6, m=30)
    every, some = (scored(traces, Settings(points=points)) for points in (0, 120))
    assert some.pairs != pytest.approx(every.pairs) and some.pairs == pytest.approx(
        every.pairs, rel=0.5
    )
    assert scored(traces, Settings(points=180)).pairs == pytest.approx(every.pairs)


def test_what_is_taken_of_traces() -> None:
    traces = made_up(1, n=9, m=6, units=12)[0]
    assert (prepared(traces, Settings(), stream) == traces).all()
    assert (prepared(traces, Settings(snapshots=3), stream) == traces[[0, 4, 8]]).all()
    standard = prepared(traces, Settings(standardised=True), stream)
    assert standard.mean(axis=2) == pytest.approx(np.zeros((9, 6)), abs=1e-12)
    assert standard.std(axis=2) == pytest.approx(np.ones((9, 6)))
    planted = np.concatenate([traces[..., :3], traces[..., :3] @ np.ones((3, 4))], axis=2)
    reduced = prepared(planted, Settings(components=3), stream)
    assert reduced.shape == (9, 6, 3)
    distances = [
        np.linalg.norm(a.reshape(54, 1, -1) - a.reshape(1, 54, -1), axis=2)
        for a in (planted, reduced)
    ]
    assert distances[1] == pytest.approx(distances[0])
    assert prepared(traces.astype(np.float16), Settings(), stream).dtype == np.float32


@pytest.mark.parametrize(
    ("traces", "chosen", "words"),
    [
        (made_up(1), SMALL, ["models", "1", "2 or more"]),
        (made_up(2, n=1), SMALL, ["traces", "1 snapshot"]),
        (made_up(2, m=2), SMALL, ["2 samples", "more than neighbours, which is 2"]),
        (made_up(2), Settings(dimensions=12), ["dimensions", "12", "at most 11"]),
        (made_up(2), Settings(snapshots=4), ["snapshots", "4", "at most 3"]),
        (
            [made_up(1)[0], made_up(1, m=5)[0]],
            SMALL,
            ["3 snapshots of 5 samples", "3 of 4, as of the model before"],
        ),
    ],
)
def test_what_cannot_be_compared(traces: Any, chosen: Settings, words: list[str]) -> None:
    with pytest.raises(BadArray) as error:
        scored(traces, chosen)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("t", 0, "a whole number from 1"),
        ("t", 2.5, "a whole number from 1"),
        ("t", True, "a whole number from 1"),
        ("t", None, "a whole number from 1"),
        ("snapshots", 1, "a whole number from 2 or null"),
        ("components", -1, "0 for all units, or a whole number from 1"),
        ("points", 1, "0 for all, or a whole number from 2"),
        ("decay", 0, "a number above 0"),
        ("decay", float("inf"), "a number above 0"),
        ("kernel_bandwidth", "wide", "a number above 0 or null"),
        ("scaled", 1, "true or false"),
        ("estimator", "u", "biased or unbiased"),
        ("level", 95, "a number between 0 and 1"),
        ("layers", (), "a list of names of layers or null"),
    ],
)
def test_settings_are_checked(name: str, value: object, accepted: str) -> None:
    with pytest.raises(BadArray) as error:
        Settings(**{name: value})  # type: ignore[arg-type]
    assert (error.value.field, error.value.accepted) == (name, accepted)
