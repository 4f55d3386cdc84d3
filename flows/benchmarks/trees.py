"""Boosted trees of one model's codes, against scikit-learn's GradientBoostingClassifier().

- As in a study of dSprites: 10,000 rows, 10 latents, factors with 3, 6, 40, 32 and 32 values. The
  codes are made up (scores.py).
- One process, one thread, in turn: ours is learned before and after the baseline, and the median
  counts.
- LightGBM and XGBoost are measured where they are installed, with 100 rounds of depth 3. Their
  trees differ, and their scores are not the papers'.

`size` is the number of rows.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from flows.benchmarks import Row
from flows.benchmarks.scores import ROWS, TEST_ROWS, VALUES, Matrix, made_up_table
from flows.benchmarks.turns import in_a_worker, print_rows
from metrics.base.dci_scores import disentanglement
from tasks.streams import stream

TURNS = 3  # of ours; the baseline takes minutes


def measure(size: int | None = None) -> list[Row]:
    return in_a_worker("flows.benchmarks.trees", size or ROWS)


def ours(seed: int) -> Any:
    from metrics.compiled.boosting import Boosting

    return Boosting(seed)


def scikit_learn(seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(random_state=seed)


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    settings = {"importance_type": "gain", "n_jobs": 1, "verbose": -1}
    return LGBMClassifier(max_depth=3, random_state=seed, **settings)


def xgboost(seed: int) -> Any:
    from xgboost import XGBClassifier

    settings = {"importance_type": "total_gain", "n_jobs": 1, "learning_rate": 0.1}
    return XGBClassifier(n_estimators=100, max_depth=3, random_state=seed, **settings)


def learned(kind: Callable[[int], Any], codes: Matrix, factor: Matrix) -> tuple[float, Matrix]:
    """Core-seconds, and each latent's share of the importance."""
    began = time.process_time()
    fitted = kind(0).fit(codes, factor)
    seconds = time.process_time() - began
    importance = np.maximum(fitted.feature_importances_, 0.0)  # scikit-learn's can be -2e-17
    return seconds, importance / importance.sum()


def main(rows: int) -> list[Row]:
    codes, factors = made_up_table(rows + TEST_ROWS, stream("bench scores"))
    codes, factors = codes[:rows], factors[:rows]
    others = {"lightgbm": lightgbm, "xgboost": xgboost}
    kinds = {"scikit-learn": scikit_learn} | {
        name: kind for name, kind in others.items() if find_spec(name)
    }
    ours(0).fit(codes[:50], factors[:50, 0])  # compiles
    mine: list[float] = []
    base: dict[str, list[float]] = {name: [] for name in kinds}
    importances: dict[str, list[Matrix]] = {name: [] for name in ("ours", *kinds)}
    for factor in factors.T:
        times = [learned(ours, codes, factor)[0]]
        for name, kind in kinds.items():
            seconds, importance = learned(kind, codes, factor)
            base[name].append(seconds)
            importances[name].append(importance)
        while len(times) < TURNS:
            seconds, importance = learned(ours, codes, factor)
            times.append(seconds)
        importances["ours"].append(importance)
        mine.append(statistics.median(times))
    scores = {name: disentanglement(np.transpose(shares)) for name, shares in importances.items()}
    note = f"{rows} rows, {codes.shape[1]} latents; baseline: scikit-learn"
    table = [
        Row(f"a factor of {values}", own_time, base_time, "core-s", base_time / own_time, note)
        for values, own_time, base_time in zip(VALUES, mine, base["scikit-learn"], strict=True)
    ]
    for name, times in base.items():
        both = f"{scores['ours'][0]:.4f} and {scores[name][0]:.4f}"
        note, ratio = f"baseline: {name}; disentanglement {both}", sum(times) / sum(mine)
        table.append(Row("all five factors", sum(mine), sum(times), "core-s", ratio, note))
    return table


if __name__ == "__main__":
    print_rows(main(int(sys.argv[1])))
