"""Core-seconds of metrics for one model's codes, against the straightforward computation.

- As in a study of dSprites: 10,000 training and 5,000 test rows, 10 latents, factors with 3, 6, 40,
  32 and 32 values, 10,000 and 5,000 groups of 64. The codes are made up.
- Ours: metrics.evaluate on inputs of which nothing is computed yet.
- Baseline: written from the definition with numpy and scikit-learn; it must give the same score.
- Both run in one process with one thread, in turn; `size` is the number of turns.
- downstream_logistic has one turn, because its baseline takes half a minute. Its accuracies agree
  to 0.01 only, as both sides stop before they converge.
- beta_vae, sap, explicitness and dci_forest are left out: they are loops over scikit-learn's own
  classifiers and forests, and so would be their baseline. irs is a loop either way.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flows.benchmarks import Row
from flows.benchmarks.turns import in_a_worker, print_rows
from metrics.base.dci_scores import disentanglement
from metrics.base.downstream import SIZES
from metrics.base.inputs import Groups, Inputs
from metrics.base.predictors import quiet, validation_rows
from metrics.base.rows import table_groups, table_variations
from metrics.dci_lasso import PENALTIES
from metrics.evaluate import evaluate
from tasks.streams import stream

TURNS = 5
ROWS, TEST_ROWS, LATENTS, GROUP = 10_000, 5_000, 10, 64
VALUES = (3, 6, 40, 32, 32)
INFORMATION = ("mig", "mig_sup", "jemmig", "modularity", "dcimig")
Matrix = NDArray[Any]


def measure(size: int | None = None) -> list[Row]:
    return in_a_worker("flows.benchmarks.scores", size or TURNS)


def made_up_table(rows: int, draws: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Codes and factors: half of the latents encode a factor with noise, the others mix all."""
    factors = draws.integers(0, VALUES, size=(rows, len(VALUES)))
    scaled = factors / np.array(VALUES)
    mixed = scaled @ draws.normal(size=(len(VALUES), LATENTS - len(VALUES)))
    codes = np.hstack([scaled, mixed])
    return codes / codes.std(axis=0) + 0.2 * draws.normal(size=codes.shape), factors


def made_up() -> Inputs:
    draws, rows, test_rows = stream("bench scores"), ROWS, TEST_ROWS
    codes, factors = made_up_table(rows + test_rows, draws)
    train, test = (codes[:rows], factors[:rows]), (codes[rows:], factors[rows:])
    return Inputs(
        *train,
        test_codes=test[0],
        test_factors=test[1],
        train_groups=table_groups(*train, rows, GROUP, draws),
        test_groups=table_groups(*test, test_rows, GROUP, draws),
        train_variations=table_variations(*train, rows, GROUP, draws),
        test_variations=table_variations(*test, test_rows, GROUP, draws),
    )


def information(inputs: Inputs) -> tuple[Matrix, Matrix, Matrix]:
    """Mutual information pair by pair, (latents, factors), and both sides' entropies."""
    from sklearn.metrics import mutual_info_score

    latents = [np.digitize(latent, np.histogram(latent, 20)[1][:-1]) for latent in inputs.codes.T]
    factors = list(inputs.factors.T)
    shared = [[mutual_info_score(factor, latent) for factor in factors] for latent in latents]
    own = ([mutual_info_score(row, row) for row in side] for side in (latents, factors))
    latent_entropy, factor_entropy = (np.array(entropies) for entropies in own)
    return np.array(shared), latent_entropy, factor_entropy


def mig(inputs: Inputs) -> float:
    shared, _, entropy = information(inputs)
    ascending = np.sort(shared, axis=0)
    return float(np.mean((ascending[-1] - ascending[-2]) / entropy))


def mig_sup(inputs: Inputs) -> float:
    shared, _, entropy = information(inputs)
    ascending = np.sort(shared / entropy, axis=1)
    return float(np.mean(ascending[:, -1] - ascending[:, -2]))


def jemmig(inputs: Inputs) -> float:
    shared, latents, factors = information(inputs)
    best, every = shared.argmax(axis=0), np.arange(len(factors))
    joint = latents[best] + factors - shared[best, every]
    return float(np.mean(joint - shared[best, every] + np.sort(shared, axis=0)[-2]))


def modularity(inputs: Inputs) -> float:
    shared, _, factors = information(inputs)
    ascending = np.sort(shared, axis=1)
    others = np.square(ascending[:, :-1]).sum(axis=1)
    return float(np.mean(1 - others / (np.square(ascending[:, -1]) * (len(factors) - 1))))


def dcimig(inputs: Inputs) -> float:
    shared, _, entropy = information(inputs)
    gaps: dict[int, float] = {}
    for row in shared:
        runner_up, most = np.sort(row)[-2:]
        gaps[int(row.argmax())] = max(gaps.get(int(row.argmax()), 0.0), most - runner_up)
    return sum(gaps.values()) / float(entropy.sum())


def dci_lasso(inputs: Inputs) -> float:
    """Every penalty fitted on the rows; scikit-learn's tolerance costs it the fourth digit."""
    from sklearn.linear_model import Lasso

    codes = (inputs.codes - inputs.codes.mean(axis=0)) / inputs.codes.std(axis=0)
    held_out = validation_rows(len(codes), stream("score", "dci_lasso"))
    importance = []
    for factor in inputs.factors.T:
        target = (factor - factor.mean()) / factor.std()
        penalties = np.abs(codes.T @ target).max() / len(codes) * PENALTIES
        errors = []
        for penalty in penalties:
            fitted = Lasso(alpha=penalty).fit(codes[~held_out], target[~held_out])
            errors.append(np.square(fitted.predict(codes[held_out]) - target[held_out]).mean())
        best = Lasso(alpha=penalties[np.argmin(errors)]).fit(codes, target)
        importance.append(np.abs(best.coef_))
    return disentanglement(np.transpose(importance))[0]


def factor_vae(inputs: Inputs) -> float:
    return vote(inputs.codes, *inputs.groups(), np.argmin)


def rf_vae(inputs: Inputs) -> float:
    return vote(inputs.codes, *inputs.variations(), np.argmax)


def downstream_logistic(inputs: Inputs) -> float:
    """All training sizes, as ours; scikit-learn's warnings that it stops early are left out."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import KFold

    accuracy = []
    for size in SIZES:
        right = []
        for column in range(len(VALUES)):
            regression = LogisticRegressionCV(
                Cs=10, cv=KFold(5), l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False
            )
            with quiet():
                regression.fit(inputs.codes[:size], inputs.factors[:size, column])
            codes, factors = inputs.test_table()
            right.append(np.mean(regression.predict(codes) == factors[:, column]))
        accuracy.append(np.mean(right))
    return float(accuracy[-1])


def vote(codes: Matrix, train: Groups, test: Groups, choose: Callable[[Matrix], int]) -> float:
    """Group by group, as released for the FactorVAE metric; here all latents are active."""
    variance = codes.var(axis=0, ddof=1)
    votes = np.zeros((len(VALUES), LATENTS), dtype=np.int64)
    for group, factor in zip(train.codes, train.factor, strict=True):
        votes[factor, choose(group.var(axis=0, ddof=1) / variance)] += 1
    elected, right = votes.argmax(axis=0), 0
    for group, factor in zip(test.codes, test.factor, strict=True):
        right += elected[choose(group.var(axis=0, ddof=1) / variance)] == factor
    return right / len(test.factor)


BASELINES: dict[str, Callable[[Inputs], float]] = {
    "mig": mig,
    "mig_sup": mig_sup,
    "jemmig": jemmig,
    "modularity": modularity,
    "dcimig": dcimig,
    "dci_lasso": dci_lasso,
    "factor_vae": factor_vae,
    "rf_vae": rf_vae,
    "downstream_logistic": downstream_logistic,
}
AGREES_TO = {"dci_lasso": 1e-3, "downstream_logistic": 0.01}  # others to 1e-9
SLOW = ("downstream_logistic",)


def ours(names: tuple[str, ...], inputs: Inputs) -> list[float]:
    fresh = replace(inputs)  # nothing that several metrics read is computed yet
    return [evaluate(name, fresh, stream("score", name))[0].value for name in names]


def baseline(names: tuple[str, ...], inputs: Inputs) -> list[float]:
    return [BASELINES[name](inputs) for name in names]


def _compared(title: str, names: tuple[str, ...], inputs: Inputs, turns: int, note: str) -> Row:
    ours(names, inputs)  # warms up
    values: list[list[float]] = [[], []]
    seconds: tuple[list[float], list[float]] = ([], [])
    uncounted = 0 if set(names) & set(SLOW) else 1  # turns that only warm up
    for turn in range(turns + uncounted if uncounted else 1):
        for place, side in enumerate((ours, baseline)):
            began = time.process_time()
            values[place] = side(names, inputs)
            if turn >= uncounted:
                seconds[place].append(1e3 * (time.process_time() - began))
    if not np.allclose(values[0], values[1], atol=AGREES_TO.get(names[0], 1e-9), rtol=0):
        raise RuntimeError(f"{title}: {values[0]}, baseline {values[1]}")
    mine, base = (statistics.median(times) for times in seconds)
    return Row(title, mine, base, "core-ms", base / mine, note)


def main(turns: int) -> list[Row]:
    inputs = made_up()
    notes = {
        **dict.fromkeys(INFORMATION, "baseline: mutual_info_score, pair by pair"),
        **dict.fromkeys(("factor_vae", "rf_vae"), "baseline: group by group"),
        "dci_lasso": "baseline: scikit-learn's Lasso, penalty by penalty",
        "downstream_logistic": "baseline: LogisticRegressionCV on the same four sizes",
    }
    rows = [_compared(name, (name,), inputs, turns, notes[name]) for name in BASELINES]
    note = "ours share one matrix; baseline: each its own"
    return [*rows, _compared("all five of information", INFORMATION, inputs, turns, note)]


if __name__ == "__main__":
    print_rows(main(int(sys.argv[1])))
