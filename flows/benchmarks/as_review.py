"""Scores of an experiment's representation as Carbonneau et al. 2022 computed them.

The settings are those of the review's text and configuration:

- Predictors are trained and judged on all points, and all are drawn from for groups and pairs.
- Factors and codes have 10 equal bins wherever bins are needed. DCI and SAP read the real values.
- Z-diff: 10,000 sets of 200 pairs to train, 5,000 to test. Z-min and Z-max variance: 800 and 800
  groups of 200 points; latents with a standard deviation below 0.02 are left out. Z-max draws from
  any two points that share all factors but one, whether they differ in that one or not.
- DCI: values and codes are scaled to [0, 1]; the lasso's penalty, 1e-4 to 1, by ten folds; forests
  of ten trees, whose depth (8 to 128) and share of columns (0.2 to 1) are chosen on one of the ten
  folds here, which takes a tenth of the time. Informativeness is 1 - 12 · MSE, the scale of the
  published numbers. Another column has 1 - 6 · MSE, as the text says.
- Explicitness: one logistic regression per value against the others, codes scaled to [0, 1], both
  sides of equal weight; its probabilities are divided by their sum over the values.
- SAP: R² of a linear regression.
- MIG-sup: divided by the entropy of the code, as published; the text divides by the factor's.

"released_disentanglement" is DCI's modularity as the review's code computes it: a latent whose
weights are all 0 ends the loop over latents, so that all later ones have no weight; if it is the
first, the score is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from data.base.continuous import BINS
from metrics.base.dci_scores import completeness, disentanglement
from metrics.base.information import discretise, entropy, mutual_information
from metrics.base.inputs import Groups, Score
from metrics.base.predictors import RealTables, quiet
from metrics.base.rows import table_groups, table_pairs
from metrics.base.votes import calibrated, majority_vote
from metrics.beta_vae import beta_vae
from metrics.dcimig import dcimig
from metrics.irs import irs
from metrics.jemmig import jemmig
from metrics.mig import mig
from metrics.modularity import modularity
from metrics.sap import explained
from tasks.streams import stream

Values: TypeAlias = NDArray[np.float64]
Factors: TypeAlias = NDArray[np.int64]
Parts: TypeAlias = dict[str, float]

PAIRED_SETS, PAIRS = (10_000, 5_000), 200
GROUPS, SIZE, THRESHOLD = (800, 800), 200, 0.02
PENALTIES, FOLDS = np.logspace(-4, 0, 20), 10
TREES, DEPTHS, SHARES = 10, (8, 16, 32, 64, 128), (0.2, 0.4, 0.8, 1.0)

COLUMNS: dict[str, tuple[str, str]] = {  # of Table 1
    "Z-diff": ("beta_vae", "calibrated"),
    "Z-min Variance": ("factor_vae", "calibrated"),
    "Z-max Variance": ("rf_vae", "calibrated"),
    "IRS": ("irs", "max_deviation_weighted"),
    "DCI Lasso Modularity": ("dci_lasso", "disentanglement"),
    "DCI Lasso Modularity, released": ("dci_lasso", "released_disentanglement"),
    "DCI Lasso Compactness": ("dci_lasso", "completeness"),
    "DCI Lasso Explicitness": ("dci_lasso", "1 - 12 MSE"),
    "DCI Lasso Explicitness, text": ("dci_lasso", "1 - 6 MSE"),
    "DCI RF Modularity": ("dci_forest", "disentanglement"),
    "DCI RF Compactness": ("dci_forest", "completeness"),
    "DCI RF Explicitness": ("dci_forest", "1 - 12 MSE"),
    "DCI RF Explicitness, text": ("dci_forest", "1 - 6 MSE"),
    "Explicitness Score": ("explicitness", "score"),
    "SAP": ("sap", "gap_r2"),
    "MIG-RMIG": ("mig", "score"),
    "MIG-sup": ("mig_sup", "by the code's entropy"),
    "JEMMIG": ("jemmig", "normalised"),
    "Modularity Score": ("modularity", "score"),
    "DCIMIG": ("dcimig", "score"),
}


def scores(
    codes: Values, values: Values, columns: Sequence[tuple[str, str]], seed: int
) -> dict[tuple[str, str], float]:
    """The columns' scores of one representation; NaN where groups lack."""
    factors = np.minimum((values * BINS).astype(np.int64), BINS - 1)

    def draws(purpose: str) -> np.random.Generator:
        return stream("experiment as review", purpose, seed)

    computed: dict[str, Callable[[], Parts]] = {
        "beta_vae": lambda: _z_diff(codes, factors, draws),
        "factor_vae": lambda: _z_min(codes, factors, draws("groups")),
        "rf_vae": lambda: _z_max(codes, factors, draws("variations")),
        "irs": lambda: _parts(irs(codes, factors)),
        "dci_lasso": lambda: _dci(codes, values, _lasso),
        "dci_forest": lambda: _dci(codes, values, _forest(int(draws("forest").integers(2**31)))),
        "explicitness": lambda: {"score": _explicitness(codes, factors)},
        "sap": lambda: {"gap_r2": _sap(codes, values)},
        "mig": lambda: _parts(mig(codes, factors, BINS)),
        "mig_sup": lambda: {"by the code's entropy": _mig_sup(codes, factors)},
        "jemmig": lambda: _parts(jemmig(codes, factors, BINS)),
        "modularity": lambda: _parts(modularity(codes, factors, BINS)),
        "dcimig": lambda: _parts(dcimig(codes, factors, BINS)),
    }
    parts = {metric: computed[metric]() for metric in dict.fromkeys(m for m, _ in columns)}
    return {(metric, part): parts[metric].get(part, math.nan) for metric, part in columns}


def _parts(scored: list[Score]) -> Parts:
    return {score.part: score.value for score in scored if score.factor is None}


def _z_diff(codes: Values, factors: Factors, draws: Callable[[str], np.random.Generator]) -> Parts:
    train, test = (
        table_pairs(codes.astype(np.float32), factors, sets, PAIRS, draws(f"pairs {sets}"))
        for sets in PAIRED_SETS
    )
    return _parts(beta_vae(train, test, draws("beta_vae")))


def _z_min(codes: Values, factors: Factors, rng: np.random.Generator) -> Parts:
    train, test = (table_groups(codes, factors, count, SIZE, rng) for count in GROUPS)
    return _vote(codes, train, test, factors.shape[1], sign=1)


def _z_max(codes: Values, factors: Factors, rng: np.random.Generator) -> Parts:
    drawn = [_variations(codes, factors, count, rng) for count in GROUPS]
    train, test = (groups for groups in drawn if groups) if all(drawn) else (None, None)
    if train is None or test is None:
        return {}
    return _vote(codes, train, test, factors.shape[1], sign=-1)


def _vote(codes: Values, train: Groups, test: Groups, factors: int, sign: int) -> Parts:
    right = _parts(majority_vote(codes, train, test, THRESHOLD, sign=sign))["score_std_pruned"]
    return {"calibrated": calibrated(right, np.arange(factors))}


def _variations(
    codes: Values, factors: Factors, count: int, rng: np.random.Generator
) -> Groups | None:
    """Groups of points that share all factors but one; None where no two points do."""
    rows_of: dict[int, tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]] = {}
    for column in range(factors.shape[1]):
        others = np.delete(factors, column, axis=1)
        number = np.unique(others, axis=0, return_inverse=True)[1].ravel()
        order, counts = np.argsort(number, kind="stable"), np.bincount(number)
        shared = np.flatnonzero(counts > 1)
        if len(shared):
            rows_of[column] = (order, (np.cumsum(counts) - counts)[shared], counts[shared])
    if not rows_of:
        return None
    varied = rng.choice(list(rows_of), size=count)
    groups = np.empty((count, SIZE, codes.shape[1]))
    for place, column in enumerate(varied.tolist()):
        order, starts, counts = rows_of[column]
        chosen = rng.integers(len(starts))
        groups[place] = codes[order[starts[chosen] + rng.integers(counts[chosen], size=SIZE)]]
    return Groups(groups, varied)


Fit: TypeAlias = Callable[[Values, Values], tuple[Values, Values]]


def _dci(codes: Values, values: Values, fit: Fit) -> Parts:
    """`fit(codes, target)` gives every latent's importance and the predictions."""
    latents, targets = _scaled(codes), _scaled(values)
    fits = [fit(latents, target) for target in targets.T]
    importance = np.stack([each for each, _ in fits], axis=1)
    errors = np.array([np.square(p - t).mean() for (_, p), t in zip(fits, targets.T, strict=True)])
    whole, each = disentanglement(importance)
    used = importance.sum(axis=1)
    before = np.where(np.cumprod(used > 0), used, 0.0)
    released = float(before @ each / (before.sum() or 1.0))
    return {
        "disentanglement": whole,
        "released_disentanglement": released,
        "completeness": completeness(importance)[0],
        "1 - 12 MSE": float(np.maximum(1 - 12 * errors, 0).mean()),
        "1 - 6 MSE": float(np.maximum(1 - 6 * errors, 0).mean()),
    }


def _scaled(columns: Values) -> Values:
    """Every column to [0, 1]."""
    width = np.ptp(columns, axis=0)
    scaled: Values = (columns - columns.min(axis=0)) / np.where(width > 0, width, 1.0)
    return scaled


def _lasso(codes: Values, target: Values) -> tuple[Values, Values]:
    from sklearn.linear_model import LassoCV

    with quiet():
        model = LassoCV(alphas=PENALTIES, cv=FOLDS).fit(codes, target)
    return np.abs(model.coef_), model.predict(codes)


def _forest(seed: int) -> Fit:
    from sklearn.ensemble import RandomForestRegressor

    def grow(depth: int, share: float, codes: Values, target: Values) -> RandomForestRegressor:
        forest = RandomForestRegressor(
            TREES, max_depth=depth, max_features=share, random_state=seed
        )
        return forest.fit(codes, target)

    def fit(codes: Values, target: Values) -> tuple[Values, Values]:
        cut = len(codes) // FOLDS
        best = (math.inf, 0, 0.0)
        for share in SHARES:
            deepest = grow(DEPTHS[-1], share, codes[cut:], target[cut:])
            grown = max(tree.get_depth() for tree in deepest.estimators_)
            for depth in (*(d for d in DEPTHS if d < grown), DEPTHS[-1]):  # others are the same
                forest = (
                    deepest
                    if depth == DEPTHS[-1]
                    else grow(depth, share, codes[cut:], target[cut:])
                )
                error = float(np.square(forest.predict(codes[:cut]) - target[:cut]).mean())
                best = min(best, (error, depth, share))
        forest = grow(*best[1:], codes, target)
        return np.maximum(forest.feature_importances_, 0.0), forest.predict(codes)

    return fit


def _explicitness(codes: Values, factors: Factors) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    latents, areas = _scaled(codes), []
    for factor in factors.T:
        known = np.unique(factor)
        with quiet():
            chances = np.stack(
                [
                    LogisticRegression(class_weight="balanced")
                    .fit(latents, factor == value)
                    .predict_proba(latents)[:, 1]
                    for value in known
                ],
                axis=1,
            )
        chances /= chances.sum(axis=1, keepdims=True)
        areas += [
            roc_auc_score(factor == value, chances[:, place]) for place, value in enumerate(known)
        ]
    return 2 * float(np.mean(areas)) - 1


def _sap(codes: Values, values: Values) -> float:
    quality = np.sort(explained(RealTables(codes, values, codes, values)), axis=0)
    return float((quality[-1] - quality[-2]).mean())


def _mig_sup(codes: Values, factors: Factors) -> float:
    labels = discretise(codes, BINS)
    available = entropy(labels)[:, None]
    shared = mutual_information(labels, factors)
    known = np.divide(shared, available, out=np.zeros_like(shared), where=available > 0)
    ascending = np.sort(np.hstack([np.zeros((len(known), 1)), known]), axis=1)
    return float((ascending[:, -1] - ascending[:, -2]).mean())
