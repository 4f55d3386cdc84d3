"""UDR, ModelCentrality, CKA and CCA of all ordered pairs of a data set's models, against
scikit-learn and plain numpy, pair by pair.

- Codes: 10,000 points and 10 latents per model, all made up. Half of the models are noisy copies of
  shared factors in another order, half are rotated; one latent in ten is dead.
- Ours: what `tolstoy rank FILE` calls, with a thread per core, from codes on the disk to udr and
  udr_eq2 of every pair. Generating the codes is not counted.
- Baseline: one fit per pair of standardised latents, with scikit-learn's defaults as in the code
  released with Duan et al. 2020, or scipy's spearmanr of all latents of a pair at once, or for
  ModelCentrality numpy's variance of each group, as in the code released with Lin et al. 2020. It
  is measured on samples of the same pairs, in one process per core at once, before and after each
  of our turns. Only the fits are counted, in wall time as ours; the time of all pairs is
  estimated from the two samples beside a turn.
- The ratio is the median of the turns' ratios. The core-seconds of both are in the note: on a
  machine that others use they vary less than the wall time.
- The scores of the samples must agree.
- numpy's matrix products are most of our time. The note says which code they were told to use
  (OPENBLAS_CORETYPE): a setting of your own has precedence over the worker's.
- Memory is our process's largest resident size; it includes the codes, which are mapped.

`size` is the number of models.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flows.benchmarks import Row
from flows.benchmarks.turns import in_a_worker, print_rows
from infra.peak_memory import largest_bytes
from infra.runtime import BLAS_KERNELS, cores
from metrics import INFORMATIVE_KL
from metrics.udr import pairwise
from metrics.udr.centrality import GROUP
from tasks.streams import stream

MODELS, ALL_TO_ALL, POINTS, LATENTS = 1_800, 60, 10_000, 10
TURNS, MORE_TURNS = 3, 15  # more of what takes a fraction of a second
DEAD = 0.1
CODES, KL = "codes.npy", "kl.npy"  # (models, points, latents) and (models, latents)
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


def make(folder: Path, models: int, share: slice) -> None:
    """Write codes and KL of a share of the models."""
    codes, kl = (np.load(folder / name, mmap_mode="r+") for name in (CODES, KL))
    for model in range(models)[share]:
        codes[model], kl[model] = made_up(model)


def warm(similarity: str) -> None:
    pairwise(stream("bench udr warm").normal(size=(3, 50, 4)), similarity=similarity)


@dataclass(frozen=True)
class Compared:
    """All pairs by ours: seconds, core-seconds, udr, and the largest resident size in bytes."""

    seconds: float
    core_seconds: float
    udr: Matrix
    memory: int


def compare_all(folder: Path, similarity: str) -> Compared:
    began, core_began = time.perf_counter(), time.process_time()
    # not "r": numba would compile its loops once more, for arrays that cannot be written
    codes, kl = (np.load(folder / name, mmap_mode="c") for name in (CODES, KL))
    pairs = pairwise(codes, kl, similarity, threads=cores())
    seconds, core_seconds = time.perf_counter() - began, time.process_time() - core_began
    return Compared(seconds, core_seconds, pairs.udr, largest_bytes())


@dataclass(frozen=True)
class Sample:
    """Fits of the baseline: seconds and core-seconds per pair, and the udr of each."""

    seconds: float
    core_seconds: float
    scores: list[tuple[int, int, float]]


def fit_pairs(folder: Path, similarity: str, pairs: list[tuple[int, int]]) -> Sample:
    from metrics.udr.pair_score import pair_score

    fit = BASELINES[similarity][0]
    codes, kl = (np.load(folder / name, mmap_mode="r") for name in (CODES, KL))
    scores, seconds, core_seconds = [], 0.0, 0.0
    for i, j in pairs:
        sides, flags = [], []
        for model in (i, j):
            flags.append(kl[model] > INFORMATIVE_KL)
            of_model = codes[model].astype(np.float64)
            scales = 1 if similarity == "cka" else of_model.std(axis=0)
            sides.append((of_model - of_model.mean(axis=0)) / scales * flags[-1])
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
    """Some models on the disk, and the processes that write them and fit the baseline."""

    pool: ProcessPoolExecutor
    processes: int
    folder: Path
    similarity: str
    models: int

    def make(self) -> None:
        for name, shape, kind in (
            (CODES, (self.models, POINTS, LATENTS), np.float32),
            (KL, (self.models, LATENTS), np.float64),
        ):
            np.lib.format.open_memmap(self.folder / name, "w+", kind, shape)
        shares = [slice(share, None, self.processes) for share in range(self.processes)]
        calls = [self.pool.submit(make, self.folder, self.models, share) for share in shares]
        for call in calls:
            call.result()

    def sample(self, draws: np.random.Generator) -> Sample:
        """Of the baseline, which every process fits at the same time."""
        count = max(BASELINES[self.similarity][1], self.processes)
        pairs = [tuple(draws.choice(self.models, size=2, replace=False)) for _ in range(count)]
        calls = [
            self.pool.submit(
                fit_pairs, self.folder, self.similarity, pairs[share :: self.processes]
            )
            for share in range(self.processes)
        ]
        shares = [call.result() for call in calls]
        return Sample(
            statistics.mean(share.seconds for share in shares),
            statistics.mean(share.core_seconds for share in shares),
            [score for share in shares for score in share.scores],
        )

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
        ProcessPoolExecutor(count, context) as pool,
        ProcessPoolExecutor(1, context, initializer=warm, initargs=(similarity,)) as own,
    ):
        comparison = Comparison(pool, count, Path(name), similarity, models)
        comparison.make()
        comparison.sample(draws)  # imports
        after = comparison.sample(draws)
        for _ in range(turns):
            before = after
            ours = own.submit(compare_all, comparison.folder, similarity).result()
            after = comparison.sample(draws)
            mine.append(ours.seconds)
            base.append((before.seconds + after.seconds) / 2 * pairs / count)
            work.append(ours.core_seconds / pairs)
            base_work.append((before.core_seconds + after.core_seconds) / 2)
            comparison.check(ours.udr, before)
            comparison.check(ours.udr, after)
    times = statistics.median(b / m for m, b in zip(work, base_work, strict=True))
    note = (
        f"{pairs:,} ordered pairs on {count} cores, memory {ours.memory / 2**30:.1f} GiB; "
        f"a pair takes {1e6 * statistics.median(work):.1f} core-µs, of "
        f"{(turns + 1) * len(after.scores)} by the baseline "
        f"{1e3 * statistics.median(base_work):.1f} core-ms: {times:.0f} times"
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
