"""Ranking of specifications by training dynamics: seeds that learn alike are stable.

The same samples are passed through each model at several snapshots of its training; its traces are
the activations of its decoder. Each model becomes a random walk over its samples and snapshots
(kernels.py), all models of a group are embedded together (embedding.py), and the score is the mean
MMD² between the embeddings of every two models (mmd.py). Lower is more stable.

Paper: Holtz et al. 2022, "Evaluating disentanglement in generative models without knowledge of
latent factors", section 3. The kernel is that of Gigante et al. 2019, "Visualizing the PHATE of
neural networks". Written from the papers, without any code of others.

Conventions:
- A group is a specification; its models differ in their seed, and their traces have the same
  snapshots and samples. Their units may differ.
- What the paper leaves open is in `Settings`.
- Embeddings are unit vectors times the root of their length: each coordinate has a mean square of
  1 over the points of all models, so that a bandwidth means the same for groups of any size.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.base.arrays import BadArray
from metrics.dynamics import embedding, mmd
from metrics.dynamics.kernels import Array, Diffusion, diffusion, entries, precision_of
from metrics.dynamics.settings import Settings

__all__ = [
    "Dynamics",
    "Settings",
    "check_shape",
    "chosen_snapshots",
    "dynamics",
    "joint_embedding",
    "memory_bytes",
    "prepared",
]

Matrix = NDArray[np.float64]
Stream = Callable[[str], np.random.Generator]  # the random stream of a purpose
Progress = Callable[[float], None]  # a guess of the part that is done

KEPT_BYTES = 5 * 2**29  # of kernels; those of further models are built again at each visit
VISIT_LEAVES = 0.85  # of the work that is left, as a guess: nobody knows how many visits it takes
SMALLEST = 1e-12  # a singular value below this part of the first has no direction


@dataclass(frozen=True)
class Dynamics:
    """How alike the models of a group learn; lower is more stable."""

    score: float
    interval: tuple[float, float] | None  # None with two models, which are one pair
    pairs: Matrix  # (models, models): MMD²
    embeddings: Matrix  # (models, snapshots, samples, dimensions)
    singular_values: NDArray[np.float64]  # of these dimensions
    bandwidth: float  # of MMD
    residual: float  # of the embedding: above embedding.TOLERANCE it has not converged

    @property
    def converged(self) -> bool:
        return self.residual <= embedding.TOLERANCE


def chosen_snapshots(snapshots: int, settings: Settings) -> NDArray[np.int64]:
    """The places of those that are compared, of so many."""
    if settings.snapshots is None:
        return np.arange(snapshots)
    return np.linspace(0, snapshots - 1, settings.snapshots).round().astype(np.int64)


def prepared(traces: Array, settings: Settings, stream: Stream) -> Array:
    """The traces of a model (snapshots, samples, units) as the kernel takes them."""
    if settings.snapshots is not None:
        traces = traces[chosen_snapshots(len(traces), settings)]
    if traces.dtype != np.float64:
        traces = traces.astype(np.float32)
    if settings.standardised:
        deviations = traces.std(axis=2, keepdims=True)
        traces = traces - traces.mean(axis=2, keepdims=True)
        traces = np.divide(traces, deviations, out=np.zeros_like(traces), where=deviations > 0)
    rows = traces.reshape(-1, traces.shape[2])
    if 0 < settings.components < min(rows.shape):
        from sklearn.decomposition import PCA

        seed = int(stream("components").integers(2**31))
        rows = PCA(settings.components, random_state=seed).fit_transform(rows)
    return rows.reshape(*traces.shape[:2], -1)


def dynamics(
    models: Iterable[Array],
    settings: Settings,
    stream: Stream,
    progress: Progress = lambda fraction: None,
) -> Dynamics:
    """The score of a group, from the traces (snapshots, samples, units) of each of its models.

    Models are taken one by one, and only what the kernel needs of each is kept.
    """
    from threadpoolctl import threadpool_limits

    # The blocks are so small that threads wait for each other longer than they compute.
    with threadpool_limits(1, "blas"):
        return _dynamics(models, settings, stream, progress)


def _dynamics(
    models: Iterable[Array], settings: Settings, stream: Stream, progress: Progress
) -> Dynamics:
    walks = Walks(models, settings, stream, progress)
    vectors, values, residual = joint_embedding(walks, settings, stream)
    count, snapshots, samples, _ = vectors.shape
    points = vectors * np.sqrt(count * snapshots * samples)
    if settings.scaled:
        points *= values / values[0] if values[0] else 0
    clouds = points.reshape(count, snapshots * samples, -1)
    if 0 < settings.points < clouds.shape[1]:
        # The same points of all models, so that equal models stay equal.
        chosen = stream("points").choice(clouds.shape[1], settings.points, replace=False)
        clouds = clouds[:, np.sort(chosen)]
    bandwidth = settings.kernel_bandwidth
    if bandwidth is None:
        bandwidth = mmd.median_distance(clouds.reshape(-1, clouds.shape[2]), stream("median"))
    pairs = mmd.pairwise_mmd(clouds, bandwidth, settings.estimator)
    bounds = mmd.interval(pairs, settings.draws, settings.level, stream("bootstrap"))
    return Dynamics(mmd.mean_of_pairs(pairs), bounds, pairs, points, values, bandwidth, residual)


class Walks:
    """The random walks of a group's models, one at a time; as many as fit into KEPT_BYTES are kept,
    the others are built at each visit from the traces."""

    def __init__(
        self, models: Iterable[Array], settings: Settings, stream: Stream, progress: Progress
    ) -> None:
        self.settings, self.progress, self.visits = settings, progress, 0
        self.models: list[Diffusion | Array] = []
        self.shape: tuple[int, ...] = ()
        room = KEPT_BYTES
        for number, model in enumerate(models):
            check_shape(model.shape[0], model.shape[1], settings)
            traces = prepared(model, settings, stream)
            if number and traces.shape[:2] != self.shape:
                found = "{} snapshots of {} samples".format(*traces.shape)
                accepted = "{} of {}, as of the model before".format(*self.shape)
                raise BadArray("traces", found, accepted)
            self.shape = traces.shape[:2]
            room -= entries(*self.shape) * np.dtype(precision_of(*self.shape)).itemsize
            self.models.append(diffusion(traces, settings) if room >= 0 else traces)
        if len(self.models) < 2:
            raise BadArray("models", f"{len(self.models)}", "2 or more in a group, to compare")

    def __iter__(self) -> Iterator[Diffusion]:
        self.visits += 1
        for number, model in enumerate(self.models):
            self.progress(1 - VISIT_LEAVES ** (self.visits - 1 + number / len(self.models)))
            yield model if isinstance(model, Diffusion) else diffusion(model, self.settings)


def check_shape(snapshots: int, samples: int, settings: Settings) -> None:
    """Raise unless models with so many snapshots and samples can be compared by these settings."""
    if snapshots < 2:
        raise BadArray("traces", "1 snapshot", "2 or more of each model")
    if (settings.snapshots or 0) > snapshots:
        raise BadArray("snapshots", f"{settings.snapshots}", f"at most {snapshots}")
    if samples <= settings.neighbours:
        accepted = f"more than neighbours, which is {settings.neighbours}"
        raise BadArray("traces", f"{samples} samples", accepted)
    most = (settings.snapshots or snapshots) * samples - settings.drop_first
    if settings.dimensions > most:
        raise BadArray("dimensions", f"{settings.dimensions}", f"at most {most}")


def memory_bytes(models: int, shape: tuple[int, int, int], settings: Settings) -> float:
    """What comparing a group of models with traces of this shape takes, about."""
    snapshots, samples, units = shape
    snapshots = settings.snapshots or snapshots
    points, size = snapshots * samples, np.dtype(precision_of(snapshots, samples)).itemsize
    kernel = size * entries(snapshots, samples)
    reduced = 4 * points * min(units, settings.components or units)
    kept = min(models, KEPT_BYTES // kernel)
    search = 2 * 8 * points * embedding.BLOCK * 16
    reading = 3 * 4 * points * units
    return kept * kernel + (models - kept) * reduced + kernel + max(search, reading)


def joint_embedding(
    walks: Walks, settings: Settings, stream: Stream
) -> tuple[Matrix, NDArray[np.float64], float]:
    """Left singular vectors (models, snapshots, samples, dimensions) of the stacked P^t, their
    singular values, and the residual of the search for them."""
    size, t = walks.shape[0] * walks.shape[1], settings.t

    def squared(columns: Matrix) -> Matrix:
        """M^T M times the columns."""
        x = columns.reshape(*walks.shape, -1)
        total = np.zeros(x.shape)
        for walk in walks:
            total += walk.backward(walk.forward(x, t), t)
        return total.reshape(size, -1)

    count = settings.dimensions + settings.drop_first
    found = embedding.leading(squared, size, count, stream("start"))
    right = found.vectors[:, settings.drop_first :].reshape(*walks.shape, -1)
    values = np.sqrt(np.maximum(found.values, 0))
    smallest, values = SMALLEST * values[0], values[settings.drop_first :]
    left = np.stack([walk.forward(right, t).astype(np.float64) for walk in walks])
    left = np.divide(left, values, out=np.zeros_like(left), where=values > smallest)
    largest = np.abs(left).reshape(-1, left.shape[-1]).argmax(axis=0)
    signs = np.sign(left.reshape(-1, left.shape[-1])[largest, np.arange(left.shape[-1])])
    return left * np.where(signs == 0, 1, signs), values, found.residual
