"""Scores of an experiment's representation as a study and `tolstoy score` compute them.

Conventions:
- Values are cut into 10 equal bins, also for the regressors of DCI and SAP.
- The first two thirds of the points train and the rest test; groups and pairs are drawn from the
  rows of their part, half as many as there are points, 10,000 at most, to train, half of that to
  test, of 64 each.
- Z-min and Z-max variance leave out latents with a standard deviation below 0.05: a mixture of
  uniform numbers has a variance below the usual 0.05 although it still encodes its factor.
- Z-max variance has no value where no two points differ in one factor alone, as among 8 factors of
  10 values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base.continuous import BINS
from metrics.base.inputs import Inputs
from metrics.base.rows import table_groups, table_pairs, table_variations
from metrics.base.votes import calibrated
from metrics.evaluate import evaluate, needs
from tasks.streams import stream

SETS, SIZE = 10_000, 64
CALIBRATED = "score_std_pruned, calibrated"
COLUMNS: dict[str, tuple[str, str]] = {  # of the review's Table 1: our metric and its part
    "Z-diff": ("beta_vae", "calibrated"),
    "Z-min Variance": ("factor_vae", CALIBRATED),
    "Z-max Variance": ("rf_vae", CALIBRATED),
    "IRS": ("irs", "max_deviation_weighted"),
    "DCI Lasso Modularity": ("dci_lasso", "disentanglement"),
    "DCI Lasso Compactness": ("dci_lasso", "completeness"),
    "DCI Lasso Explicitness": ("dci_lasso", "informativeness_test"),
    "DCI RF Modularity": ("dci_forest", "disentanglement"),
    "DCI RF Compactness": ("dci_forest", "completeness"),
    "DCI RF Explicitness": ("dci_forest", "informativeness_test"),
    "Explicitness Score": ("explicitness", "score"),
    "SAP": ("sap", "score"),
    "MIG-RMIG": ("mig", "score"),
    "MIG-sup": ("mig_sup", "score"),
    "JEMMIG": ("jemmig", "normalised"),
    "Modularity Score": ("modularity", "score"),
    "DCIMIG": ("dcimig", "score"),
}


def scores(
    codes: NDArray[np.float64],
    values: NDArray[np.float64],
    columns: Sequence[tuple[str, str]],
    seed: int,
    sets: int = SETS,
) -> dict[tuple[str, str], float]:
    """The columns' scores of one representation; NaN where groups lack."""
    metrics = list(dict.fromkeys(metric for metric, _ in columns))
    factors = np.minimum((values * BINS).astype(np.int64), BINS - 1)
    cut, sets = 2 * len(codes) // 3, min(sets, len(codes) // 2)
    train, test = (codes[:cut], factors[:cut]), (codes[cut:], factors[cut:])
    drawn: dict[str, Any] = {}
    missing: set[str] = set()
    kinds: dict[str, Callable[..., Any]] = {
        "groups": table_groups,
        "pairs": table_pairs,
        "variations": table_variations,
    }
    for kind in sorted(needs(metrics) & kinds.keys()):
        for part, rows, count in (("train", train, sets), ("test", test, max(1, sets // 2))):
            draws = stream("experiment", f"{part} {kind}", seed)
            try:
                drawn[f"{part}_{kind}"] = kinds[kind](*rows, count, SIZE, draws)
            except ValueError:
                missing.add(kind)
    inputs = Inputs(*train, test_codes=test[0], test_factors=test[1], **drawn)
    overall = {
        (metric, score.part): score.value
        for metric in metrics
        if not needs([metric]) & missing
        for score in evaluate(metric, inputs, stream("experiment", metric, seed))
        if score.factor is None
    }
    for metric in {"factor_vae", "rf_vae"} & {name for name, _ in overall}:
        right = overall[metric, "score_std_pruned"]
        overall[metric, CALIBRATED] = calibrated(right, np.arange(factors.shape[1]))
    return {column: overall.get(column, math.nan) for column in columns}
