"""UDR and ModelCentrality of all ordered pairs of a data set's models, against scikit-learn and
plain numpy, pair by pair.

- Codes: 10,000 points and 10 latents per model, all made up. Half of the models are noisy copies of
  shared factors in another order, half are rotated; one latent in ten is dead.
- Ours: the wall time of one single-threaded process per core, from codes on the disk to udr and
  udr_eq2 of every pair. Blocks of models are compared two at a time; a process keeps the two blocks
  that it prepared last. Generating the codes is not counted.
- Baseline: one fit per pair of standardised latents, with scikit-learn's defaults as in the code
  released with Duan et al. 2020, or scipy's spearmanr of all latents of a pair at once, or for
  ModelCentrality numpy's variance of each group, as in the code released with Lin et al. 2020. It
  is measured on a sample of the same pairs, on one core while nothing else runs, before each of our
  turns. All pairs on all cores are estimated from the median, as if cores did not disturb each
  other.
- The scores of the sample must agree.
- On a machine that others use, compare the core-seconds of both (in the note), not the wall time.
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
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flows.benchmarks import Row
from flows.benchmarks.turns import in_a_worker, print_rows
from infra.runtime import cores
from metrics.udr import Prepared, compare, compare_both, pairwise, prepare
from metrics.udr.centrality import GROUP
from tasks.streams import stream

MODELS, ALL_TO_ALL, POINTS, LATENTS = 1_800, 60, 10_000, 10
BLOCK = 300  # models
TURNS = 3
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


# By similarity: the baseline, pairs per turn, most models (0: no limit), agreement.
BASELINES: dict[str, tuple[Callable[[Matrix, Matrix], Matrix], int, int, float]] = {
    "lasso": (lasso, 60, 0, 5e-3),
    "spearman": (spearman, 10, 600, 1e-5),
    "lasso_cv": (lasso_cv, 3, 120, 1e-5),
    "centrality": (centrality, 10, 120, 2e-3),  # two votes of a thousand: variances that are equal
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
def prepared(folder: Path, number: int, similarity: str) -> tuple[Prepared, Matrix]:
    codes = np.load(folder / f"codes-{number}.npy")
    return prepare(codes, similarity), np.load(folder / f"informative-{number}.npy")


def compare_blocks(
    folder: Path, i: int, j: int, similarity: str
) -> tuple[int, int, tuple[Matrix, ...], float]:
    """The numbers of the blocks, their scores, and the core-seconds."""
    began = time.process_time()
    a, informative_a = prepared(folder, i, similarity)
    if i == j:
        scores: tuple[Matrix, ...] = compare(a, a, informative_a, informative_a)
    else:
        b, informative_b = prepared(folder, j, similarity)
        scores = compare_both(a, b, informative_a, informative_b)
    return i, j, scores, time.process_time() - began


def warm(similarity: str) -> None:
    pairwise(stream("bench udr warm").normal(size=(3, 50, 4)), similarity=similarity)


def peak(_: int) -> tuple[int, int]:
    """This process's number and its largest resident size, in bytes."""
    time.sleep(0.2)  # while this process sleeps, the next call goes to another process
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return os.getpid(), largest * (1 if sys.platform == "darwin" else 1024)


def time_baseline(
    folder: Path, similarity: str, models: int, step: int, draws: np.random.Generator
) -> tuple[float, float, list[tuple[int, int, float]]]:
    """Seconds and core-seconds per pair, and the udr of each pair."""
    from metrics.udr.pair_score import pair_score

    fit, pairs, _, _ = BASELINES[similarity]
    scores, seconds, core_seconds = [], 0.0, 0.0
    for _ in range(pairs):
        i, j = draws.choice(models, size=2, replace=False).tolist()
        sides, flags = [], []
        for model in (i, j):
            codes = np.load(folder / f"codes-{model // step}.npy", mmap_mode="r")[model % step]
            flags.append(np.load(folder / f"informative-{model // step}.npy")[model % step])
            codes = codes.astype(np.float64)
            sides.append((codes - codes.mean(axis=0)) / codes.std(axis=0) * flags[-1])
        began, core_began = time.perf_counter(), time.process_time()
        matrix = fit(*sides)
        seconds += time.perf_counter() - began
        core_seconds += time.process_time() - core_began
        matrix = matrix[flags[0]][:, flags[1]]
        if similarity == "centrality":
            scores.append((i, j, matrix.max(axis=1).sum() / matrix.sum()))
        else:
            scores.append((i, j, pair_score(matrix)[0]))
    return seconds / pairs, core_seconds / pairs, scores


def compared(title: str, similarity: str, models: int) -> Row:
    count = cores()
    # Enough pairs of blocks that all cores end at about the same time.
    blocks = min(models, max(-(-models // BLOCK), int(np.ceil(np.sqrt(2 * count)))))
    step = -(-models // blocks)
    parts = [range(at, min(at + step, models)) for at in range(0, models, step)]
    tasks = [(i, j) for i in range(len(parts)) for j in range(i, len(parts))]
    udr, udr_eq2 = np.full((2, models, models), np.nan)
    draws = stream("bench udr sample", similarity)
    _, _, _, agreement = BASELINES[similarity]
    mine, worked, base, base_worked = [], [], [], []
    context = get_context("spawn")
    with (
        TemporaryDirectory() as name,
        ProcessPoolExecutor(count, context, initializer=warm, initargs=(similarity,)) as pool,
    ):
        folder = Path(name)
        list(pool.map(make_block, [folder] * len(parts), range(len(parts)), parts))
        for _ in range(TURNS):
            seconds, core_seconds, sample = time_baseline(folder, similarity, models, step, draws)
            base.append(seconds)
            base_worked.append(core_seconds)
            core_seconds, began = 0.0, time.perf_counter()
            calls = [pool.submit(compare_blocks, folder, i, j, similarity) for i, j in tasks]
            for call in calls:
                i, j, scores, seconds = call.result()
                core_seconds += seconds
                a, b = (slice(parts[k].start, parts[k].stop) for k in (i, j))
                udr[a, b], udr_eq2[a, b] = scores[:2]
                if i != j:
                    udr[b, a], udr_eq2[b, a] = scores[2:]
            mine.append(time.perf_counter() - began)
            worked.append(core_seconds)
            for i, j, expected in sample:
                if abs(udr[i, j] - expected) > agreement:
                    raise RuntimeError(f"{title}: {udr[i, j]} of {i, j}, baseline {expected}")
        sizes = dict(pool.map(peak, range(4 * count)))
    used = sum(sizes.values()) + peak(0)[1]
    ours, each = statistics.median(mine), statistics.median(base)
    pairs = models * (models - 1)
    work, base_work = statistics.median(worked) / pairs, statistics.median(base_worked)
    note = (
        f"{pairs:,} ordered pairs on {count} cores, memory {used / 2**30:.1f} GiB; a pair takes "
        f"{1e6 * work:.1f} core-µs, of {TURNS * BASELINES[similarity][1]} by the baseline "
        f"{1e3 * base_work:.1f} core-ms: {base_work / work:.0f} times"
    )
    baseline = each * pairs / count
    return Row(title, ours, baseline, "s", baseline / ours, note)


def main(models: int) -> list[Row]:
    rows = [compared(f"lasso, {models} models", "lasso", models)]
    if models > ALL_TO_ALL:
        rows.append(compared(f"lasso, {ALL_TO_ALL} models (A2A)", "lasso", ALL_TO_ALL))
    for similarity, (_, _, most, _) in BASELINES.items():
        if most:
            some = min(models, most)
            rows.append(compared(f"{similarity}, {some} models", similarity, some))
    return rows


if __name__ == "__main__":
    print_rows(main(int(sys.argv[1])))
