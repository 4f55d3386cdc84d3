"""The multislice kernel, its walk and its powers, against dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metrics.dynamics import kernels
from metrics.dynamics.kernels import Diffusion, diffusion
from metrics.dynamics.settings import Settings
from tests.metrics.dynamics import brute_force

Array = np.ndarray[Any, Any]
TRACES = np.random.default_rng(0).normal(size=(3, 5, 6)) * np.arange(1, 4)[:, None, None]


def dense(walk: Diffusion, t: int, turned: bool = False) -> Array:
    """P^t or its transpose, from columns of the identity."""
    shape = walk.root.shape
    identity = np.eye(shape[0] * shape[1]).reshape(*shape, -1)
    return (walk.backward if turned else walk.forward)(identity, t).reshape(len(identity.T), -1)


@pytest.mark.parametrize(("neighbours", "decay", "rank"), [(2, 5.0, 2), (1, 2.0, 1), (4, 1.0, 2)])
@pytest.mark.parametrize("samples", [4, 5])
def test_the_walk_is_that_of_the_dense_kernel(
    neighbours: int, decay: float, rank: int, samples: int
) -> None:
    traces = TRACES[:, :samples]
    if neighbours >= samples:
        neighbours = samples - 1
    chosen = Settings(neighbours=neighbours, decay=decay, snapshot_neighbours=rank)
    walk = diffusion(traces, chosen)
    kernel = brute_force.kernel(traces, neighbours, decay, rank)
    assert kernel == pytest.approx(kernel.T) and np.diagonal(kernel) == pytest.approx(1)
    p = brute_force.walk(kernel)
    assert walk.root.ravel() ** 2 == pytest.approx(kernel.sum(axis=1))
    for t in (1, 2, 7):
        power = np.linalg.matrix_power(p, t)
        assert dense(walk, t) == pytest.approx(power, abs=1e-12)
        assert dense(walk, t, turned=True) == pytest.approx(power.T, abs=1e-12)
        assert dense(walk, t).sum(axis=1) == pytest.approx(1)


def test_a_bandwidth_of_snapshots_may_be_given() -> None:
    apart = np.linalg.norm(TRACES[0, 1] - TRACES[2, 1])
    kernel = kernels.interslice(TRACES, Settings(snapshot_bandwidth=3.0))
    assert kernel[1, 0, 2] == pytest.approx(np.exp(-((apart / 3.0) ** 2)))


def test_more_neighbours_than_snapshots_are_all_of_them() -> None:
    few, all_ = (kernels.interslice(TRACES, Settings(snapshot_neighbours=rank)) for rank in (2, 25))
    assert (few == all_).all()


def test_large_kernels_are_of_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = dense(diffusion(TRACES, Settings()), 10)
    monkeypatch.setattr(kernels, "SMALL", 0)
    walk = diffusion(TRACES, Settings())
    assert walk.upper.dtype == walk.lower.dtype == walk.inter.dtype == np.float32
    assert dense(walk, 10) == pytest.approx(exact, abs=1e-5)


def test_equal_samples_are_at_distance_0_whatever_their_size() -> None:
    points = np.array([[1e6, 3.1], [1e6, 3.1], [1e6, 3.1], [1e6, 3.2], [-5.0, 7.0]])
    kernel = kernels.intraslice(points, 2, 5.0)
    assert (kernel[:3, :3] == 1).all() and np.isfinite(kernel).all()
    assert kernel[0, 4] == pytest.approx(np.exp(-1) / 2), "near as the other sees it only"
