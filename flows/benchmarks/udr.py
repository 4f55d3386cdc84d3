"""UDR, ModelCentrality, CKA and CCA of all ordered pairs of a data set's models, against
scikit-learn and plain numpy, pair by pair.

- Codes: 10,000 points and 10 latents per model, all made up. Half of the models are noisy copies of
  shared factors in another order, half are rotated; one latent in ten is dead.
- Ours: the wall time of one single-threaded process per core, from codes on the disk to udr and
  udr_eq2 of every pair. Blocks of models are compared two at a time; within a turn a process keeps
  the two blocks that it prepared last. Generating the codes is not counted.
- Baseline: one fit per pair of standardised latents, with scikit-learn's defaults as in the code
  released with Duan et al. 2020, or scipy's spearmanr of all latents of a pair at once, or for
  ModelCentrality numpy's variance of each group, as in the code released with Lin et al. 2020. It
  is measured on samples of the same pairs, in the same processes, on all cores at once, before and
  after each of our turns. Only the fits are counted, in wall time as ours; the time of all pairs is
  estimated from the two samples beside a turn.
- The ratio is the median of the turns' ratios. The core-seconds of both are in the note: on a
  machine that others use they vary less than the wall time.
- The scores of the samples must agree.
- numpy's matrix products are most of our time. The note says which code they were told to use
  (OPENBLAS_CORETYPE): a setting of your own has precedence over the worker's.
- Memory is the sum of the processes' largest resident sizes.

`size` is the number of models.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flows.benchmarks import Row
from flows.benchmarks.turns import in_a_worker, print_rows
from infra.runtime import BLAS_KERNELS, cores
from metrics.udr import Prepared, compare, compare_both, pairwise, prepare
from metrics.udr.centrality import GROUP
from tasks.streams import stream

MODELS, ALL_TO_ALL, POINTS, LATENTS = 1_800, 60, 10_000, 10
BLOCK = 300  # models
TURNS, MORE_TURNS = 3, 15  # more of what takes a fraction of a second
DEAD = 0.1
Matrix = NDArray[Any]


def measure(size: int | None = None) -> list[Row]:
    return in_a_worker("flows.benchmarks.udr", size or MODELS)


def lasso(regressors: Matrix, targets: Matrix) -> Matrix:
    from sklearn.linear_model import Lasso

    coefficients: Matrix = Lasso(alpha=0.1).fit(regressors, targets).coef_
    return np.abs(coefficients).T


def lasso_cv(regressors: Matrix, targets: Matrix) -> Matrix:
    from sklearn.linear_model import MultiTaskLassoCV

    coefficients: Matrix = MultiTaskLassoCV(cv=5).fit(regressors, targets).coef_
    return np.abs(coefficients).T


def spearman(regressors: Matrix, targets: Matrix) -> Matrix:
    from scipy.stats import spearmanr

    matrix = np.zeros((LATENTS, LATENTS))
    rows, columns = (np.flatnonzero(side.any(axis=0)) for side in (regressors, targets))
    both = np.asarray(spearmanr(regressors[:, rows], targets[:, columns]).statistic)
    if both.ndim == 2:  # else one latent with one
        both = both[: len(rows), len(rows) :]
    matrix[np.ix_(rows, columns)] = np.abs(both)
    return matrix


def centrality(voters: Matrix, factors: Matrix) -> Matrix:
    """Votes of latents for latents, group after group."""
    votes = np.zeros((LATENTS, LATENTS))
    alive = np.flatnonzero(voters.any(axis=0))
    for factor in np.flatnonzero(factors.any(axis=0)):
        for group in np.array_split(np.argsort(factors[:, factor]), POINTS // GROUP):
            votes[alive[np.argmin(np.var(voters[group][:, alive], axis=0))], factor] += 1
    return votes


def cka(one: Matrix, other: Matrix) -> Matrix:
    """What each two latents add to the score: the paper's formula for few latents."""
    sizes = np.linalg.norm(one.T @ one) * np.linalg.norm(other.T @ other)
    added: Matrix = np.square(one.T @ other) / sizes
    return added


def cca(one: Matrix, other: Matrix) -> Matrix:
    """What each two directions add to the score, by orthonormal ones as the paper has it."""
    directions = [np.linalg.qr(side[:, side.any(axis=0)])[0] for side in (one, other)]
    matrix = np.zeros((LATENTS, LATENTS))
    products = np.square(directions[0].T @ directions[1])
    matrix.flat[: products.size] = products.ravel() / min(products.shape)
    return matrix


WHOLE = ("cka", "cca")  # the score is the sum of the matrix
# By similarity: the baseline, pairs per sample, most models (0: no limit), agreement.
BASELINES: dict[str, tuple[Callable[[Matrix, Matrix], Matrix], int, int, float]] = {
    "lasso": (lasso, 200, 0, 5e-3),
    "spearman": (spearman, 40, 600, 1e-5),
    "lasso_cv": (lasso_cv, 4, 120, 1e-5),
    "centrality": (centrality, 40, 120, 2e-3),  # two votes of a thousand: variances that are equal
    "cka": (cka, 200, MODELS, 1e-6),
    "cca": (cca, 60, MODELS, 1e-6),
}


def made_up(model: int) -> tuple[Matrix, Matrix]:
    """Codes (points, latents) and KL per latent."""
    factors = stream("bench udr").normal(size=(POINTS, LATENTS))
    draws = stream("bench udr", str(model))
    if model % 2:
        mixing = np.linalg.qr(draws.normal(size=(LATENTS, LATENTS)))[0]
    else:
        mixing = draws.permutation(np.diag(draws.choice([-1.0, 1.0], size=LATENTS)))
    alive = draws.random(LATENTS) >= DEAD
    codes = factors @ mixing * alive + 0.4 * draws.normal(size=factors.shape)
    return (codes * np.where(alive, 1.0, 0.01)).astype(np.float32), np.where(alive, 2.0, 0.001)


def make_block(folder: Path, number: int, models: range) -> None:
    both = [made_up(model) for model in models]
    np.save(folder / f"codes-{number}.npy", np.stack([codes for codes, _ in both]))
    np.save(folder / f"informative-{number}.npy", np.stack([kl for _, kl in both]) > 0.01)


@lru_cache(maxsize=2)
def prepared(folder: Path, number: int, similarity: str, turn: int) -> tuple[Prepared, Matrix]:
    """Once per process and turn."""
    codes = np.load(folder / f"codes-{number}.npy")
    return prepare(codes, similarity), np.load(folder / f"informative-{number}.npy")


def compare_blocks(
    folder: Path, i: int, j: int, similarity: str, turn: int
) -> tuple[int, int, tuple[Matrix, ...], float]:
    """The numbers of the blocks, their scores, and the core-seconds."""
    began = time.process_time()
    a, informative_a = prepared(folder, i, similarity, turn)
    if i == j:
        scores: tuple[Matrix, ...] = compare(a, a, informative_a, informative_a)
    else:
        b, informative_b = prepared(folder, j, similarity, turn)
        scores = compare_both(a, b, informative_a, informative_b)
    return i, j, scores, time.process_time() - began


def warm(similarity: str) -> None:
    pairwise(stream("bench udr warm").normal(size=(3, 50, 4)), similarity=similarity)


def peak(_: int) -> tuple[int, int]:
    """This process's number and its largest resident size, in bytes."""
    time.sleep(0.2)  # while this process sleeps, the next call goes to another process
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return os.getpid(), largest * (1 if sys.platform == "darwin" else 1024)


@dataclass(frozen=True)
class Sample:
    """Fits of the baseline: seconds and core-seconds per pair, and the udr of each."""

    seconds: float
    core_seconds: float
    scores: list[tuple[int, int, float]]


def fit_pairs(
    folder: Path, similarity: str, models_per_block: int, pairs: list[tuple[int, int]]
) -> Sample:
    from metrics.udr.pair_score import pair_score

    fit = BASELINES[similarity][0]
    scores, seconds, core_seconds = [], 0.0, 0.0
    for i, j in pairs:
        sides, flags = [], []
        for model in (i, j):
            block, place = divmod(model, models_per_block)
            codes = np.load(folder / f"codes-{block}.npy", mmap_mode="r")[place]
            flags.append(np.load(folder / f"informative-{block}.npy")[place])
            codes = codes.astype(np.float64)
            scales = 1 if similarity == "cka" else codes.std(axis=0)
            sides.append((codes - codes.mean(axis=0)) / scales * flags[-1])
        began, core_began = time.perf_counter(), time.process_time()
        matrix = fit(*sides)
        seconds += time.perf_counter() - began
        core_seconds += time.process_time() - core_began
        if similarity in WHOLE:
            scores.append((i, j, matrix.sum()))
            continue
        matrix = matrix[flags[0]][:, flags[1]]
        if similarity == "centrality":
            scores.append((i, j, matrix.max(axis=1).sum() / matrix.sum()))
        else:
            scores.append((i, j, pair_score(matrix)[0]))
    return Sample(seconds / len(pairs), core_seconds / len(pairs), scores)


@dataclass(frozen=True)
class Comparison:
    """Some models on the disk, which the processes of a pool compare in either way."""

    pool: ProcessPoolExecutor
    processes: int
    folder: Path
    similarity: str
    models: int

    @property
    def blocks(self) -> list[range]:
        """Enough that all cores end at about the same time."""
        most = max(-(-self.models // BLOCK), int(np.ceil(np.sqrt(2 * self.processes))))
        step = -(-self.models // min(self.models, most))
        return [range(at, min(at + step, self.models)) for at in range(0, self.models, step)]

    def make(self) -> None:
        blocks = self.blocks
        list(self.pool.map(make_block, [self.folder] * len(blocks), range(len(blocks)), blocks))

    def sample(self, draws: np.random.Generator) -> Sample:
        """Of the baseline, which every process fits at the same time."""
        count = max(BASELINES[self.similarity][1], self.processes)
        pairs = [tuple(draws.choice(self.models, size=2, replace=False)) for _ in range(count)]
        calls = [
            self.pool.submit(
                fit_pairs,
                self.folder,
                self.similarity,
                len(self.blocks[0]),
                pairs[share :: self.processes],
            )
            for share in range(self.processes)
        ]
        shares = [call.result() for call in calls]
        return Sample(
            statistics.mean(share.seconds for share in shares),
            statistics.mean(share.core_seconds for share in shares),
            [score for share in shares for score in share.scores],
        )

    def ours(self, turn: int) -> tuple[float, float, Matrix]:
        """Seconds and core-seconds of all pairs, and their udr."""
        udr, udr_eq2 = np.full((2, self.models, self.models), np.nan)
        blocks, core_seconds, began = self.blocks, 0.0, time.perf_counter()
        tasks = [(i, j) for i in range(len(blocks)) for j in range(i, len(blocks))]
        calls = [
            self.pool.submit(compare_blocks, self.folder, i, j, self.similarity, turn)
            for i, j in tasks
        ]
        for call in calls:
            i, j, scores, worked = call.result()
            core_seconds += worked
            a, b = (slice(blocks[k].start, blocks[k].stop) for k in (i, j))
            udr[a, b], udr_eq2[a, b] = scores[:2]
            if i != j:
                udr[b, a], udr_eq2[b, a] = scores[2:]
        return time.perf_counter() - began, core_seconds, udr

    def check(self, udr: Matrix, sample: Sample) -> None:
        for i, j, expected in sample.scores:
            if abs(udr[i, j] - expected) > BASELINES[self.similarity][3]:
                raise RuntimeError(
                    f"{self.similarity}: {udr[i, j]} of {i}, {j}, baseline {expected}"
                )


def compared(title: str, similarity: str, models: int, turns: int = TURNS) -> Row:
    count = cores()
    pairs, draws = models * (models - 1), stream("bench udr sample", similarity)
    mine, base, work, base_work = [], [], [], []
    context = get_context("spawn")
    with (
        TemporaryDirectory() as name,
        ProcessPoolExecutor(count, context, initializer=warm, initargs=(similarity,)) as pool,
    ):
        comparison = Comparison(pool, count, Path(name), similarity, models)
        comparison.make()
        after = comparison.sample(draws)
        for turn in range(turns):
            before = after
            seconds, core_seconds, udr = comparison.ours(turn)
            after = comparison.sample(draws)
            mine.append(seconds)
            base.append((before.seconds + after.seconds) / 2 * pairs / count)
            work.append(core_seconds / pairs)
            base_work.append((before.core_seconds + after.core_seconds) / 2)
            comparison.check(udr, before)
            comparison.check(udr, after)
        sizes = dict(pool.map(peak, range(4 * count)))
    used = sum(sizes.values()) + peak(0)[1]
    times = statistics.median(b / m for m, b in zip(work, base_work, strict=True))
    note = (
        f"{pairs:,} ordered pairs on {count} cores, memory {used / 2**30:.1f} GiB; a pair takes "
        f"{1e6 * statistics.median(work):.1f} core-µs, of {(turns + 1) * len(after.scores)} by the "
        f"baseline {1e3 * statistics.median(base_work):.1f} core-ms: {times:.0f} times"
    )
    if chosen := os.environ.get(BLAS_KERNELS):
        note += f"; {BLAS_KERNELS}={chosen}"
    ratio = statistics.median(b / m for m, b in zip(mine, base, strict=True))
    return Row(title, statistics.median(mine), statistics.median(base), "s", ratio, note)


def main(models: int) -> list[Row]:
    rows = [compared(f"lasso, {models} models", "lasso", models)]
    if models > ALL_TO_ALL:
        title = f"lasso, {ALL_TO_ALL} models (A2A)"
        rows.append(compared(title, "lasso", ALL_TO_ALL, MORE_TURNS))
    for similarity, (_, _, most, _) in BASELINES.items():
        if most:
            some = min(models, most)
            rows.append(compared(f"{similarity}, {some} models", similarity, some))
    return rows


if __name__ == "__main__":
    print_rows(main(int(sys.argv[1])))
