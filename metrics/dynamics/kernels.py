"""The multislice kernel of one model, and the random walk over its samples and snapshots.

A point is a sample at a snapshot. Two points have an affinity if they share their snapshot (intra)
or their sample (inter). So the kernel K' = (K + K^T) / 2 is a sum of dense blocks: (samples,
samples) for each snapshot and (snapshots, snapshots) for each sample. Neither it nor a power of
P = D^-1 K' is ever built as one matrix: P^t X takes t products with the blocks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.dynamics.settings import Settings

Array = NDArray[np.floating[Any]]
SMALL = 2**20  # entries of a kernel
ROUNDING = 1e-13  # a squared distance below this part of the squared norms is one of 0


@dataclass(frozen=True)
class Diffusion:
    """P = D^-1/2 S D^1/2 of a model; S = D^-1/2 K' D^-1/2 is symmetric.

    Of its blocks (samples, samples), which take most of the memory, the lower left quarters are not
    stored. A function on the points is (snapshots, samples, columns).
    """

    upper: Array  # (snapshots, half, samples): the first rows of the blocks of each snapshot
    lower: Array  # (snapshots, samples - half, samples - half): what is right in the other rows
    inter: Array  # (samples, snapshots, snapshots): the blocks of each sample, their diagonal 0
    root: Array  # (snapshots, samples): D^1/2

    def forward(self, x: Array, t: int) -> Array:
        """P^t x."""
        return self._steps(x * self.root[..., None], t) / self.root[..., None]

    def backward(self, x: Array, t: int) -> Array:
        """(P^t)^T x."""
        return self._steps(x / self.root[..., None], t) * self.root[..., None]

    def _steps(self, x: Array, t: int) -> Array:
        half = self.upper.shape[1]
        lower_left = self.upper[:, :, half:].transpose(0, 2, 1)
        x = np.ascontiguousarray(x, self.inter.dtype)
        for _ in range(t):
            through_time = self.inter @ np.ascontiguousarray(x.transpose(1, 0, 2))
            first, others = x[:, :half], x[:, half:]
            x = np.concatenate([self.upper @ x, lower_left @ first + self.lower @ others], axis=1)
            x += through_time.transpose(1, 0, 2)
        return x


def diffusion(traces: Array, settings: Settings) -> Diffusion:
    """The random walk of a model with these traces (snapshots, samples, units)."""
    snapshots, samples, _ = traces.shape
    half, precision = samples // 2, precision_of(snapshots, samples)
    inter: Array = interslice(traces, settings).astype(precision)
    diagonal = np.arange(snapshots)
    inter[:, diagonal, diagonal] = 0  # it is in the blocks of the snapshots already
    upper = np.empty((snapshots, half, samples), precision)
    lower = np.empty((snapshots, samples - half, samples - half), precision)
    root = np.empty((snapshots, samples), precision)
    for tau in range(snapshots):
        block = intraslice(traces[tau], settings.neighbours, settings.decay)
        root[tau] = np.sqrt(block.sum(axis=1) + inter[:, tau].sum(axis=1))
        block /= np.outer(root[tau], root[tau])
        upper[tau], lower[tau] = block[:half], block[half:, half:]
    inter /= root.T[:, :, None]
    inter /= root.T[:, None, :]
    return Diffusion(upper, lower, inter, root)


def entries(snapshots: int, samples: int) -> int:
    """Numbers that a random walk is stored in, about."""
    return 3 * snapshots * samples**2 // 4 + samples * snapshots**2


def precision_of(snapshots: int, samples: int) -> type[np.float32] | type[np.float64]:
    """Rounding of float32 is far below what a bandwidth changes; small kernels do without it."""
    return np.float64 if entries(snapshots, samples) <= SMALL else np.float32


def intraslice(slice_: Array, neighbours: int, decay: float) -> Array:
    """Affinities of the samples (samples, units) of one snapshot, symmetrised."""
    squares = squared_distances(slice_)
    nearest = np.partition(squares, neighbours, axis=1)[:, neighbours]  # place 0 is the sample
    kernel = gaussian(squares, nearest[:, None], decay)
    return (kernel + kernel.T) / 2


def interslice(traces: Array, settings: Settings) -> Array:
    """Affinities of each sample with itself at other snapshots (samples, snapshots, snapshots)."""
    squares = np.stack([squared_distances(traces[:, i]) for i in range(traces.shape[1])])
    if settings.snapshot_bandwidth is not None:
        epsilon = settings.snapshot_bandwidth
    else:
        rank = min(settings.snapshot_neighbours, squares.shape[1] - 1)
        nearest = np.sqrt(np.partition(squares, rank, axis=2)[..., rank])
        epsilon = float(np.median(nearest, axis=1).mean())
    return gaussian(squares, np.float64(epsilon**2), 2.0)


def squared_distances(points: Array) -> NDArray[np.float64]:
    """Between all points (points, units); equal points are at distance 0 exactly."""
    centred: NDArray[np.float64] = points - points.mean(axis=0, dtype=np.float64)
    products: NDArray[np.float64] = centred @ centred.T
    norms = np.diagonal(products).copy()
    sums = norms[:, None] + norms
    products *= -2
    products += sums
    products[products <= ROUNDING * sums] = 0
    return products


def gaussian(squares: Array, bandwidth_squares: Any, decay: float) -> Array:
    """exp(-(distance / bandwidth)^decay); with bandwidth 0, 1 at distance 0 and 0 elsewhere."""
    beyond = np.where(squares > 0, np.inf, 0).astype(squares.dtype)
    np.divide(squares, bandwidth_squares, out=beyond, where=bandwidth_squares > 0)
    with np.errstate(over="ignore", under="ignore"):
        beyond **= decay / 2
        np.negative(beyond, out=beyond)
        return np.exp(beyond, out=beyond)
