"""Gradient boosted trees with exact splits: scikit-learn's GradientBoostingClassifier(), faster.

The classifier of Locatello et al. 2019 (appendix C), with scikit-learn's default settings: 100
rounds of one regression tree per class (one in all for two classes) of depth 3 that is fitted to
the gradient of the log-loss; every split is the one that lowers the squared error most, in the
middle between two different values; a leaf is one Newton step, a tenth of which is added. A
column's importance is its splits' share of the fall in squared error, over all trees.

It is faster for two reasons (exact_tree.py). Columns are sorted once, not for every node of every
tree: a node passes its rows to its children in the order of every column. And columns are scored
without a branch, as if any two neighbours had different values; whether they do is then checked in
the best column only.

Conventions:
- Gradients are rounded to a grid on which sums over rows are exact in any order. Splits that part
  the same rows by different columns then have equal scores, and the seed decides which is taken; in
  scikit-learn it is the seed or the rounding. Nothing else differs.
- As in scikit-learn, a row's curvature is |g| (1 - |g|) of its gradient g. Where the probability of
  a row's own class is below 1e-16, g is exactly 1 and the row has no curvature; taken from the
  probability itself, as 1e-58, it would turn a leaf's step into 1e57.
- As in scikit-learn, values become float32, and neighbours that are less than 1e-7 apart count as
  equal. Values beyond float32 are an error.
"""

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from metrics.base.arrays import BadArray, numbers
from metrics.compiled.exact_tree import LEAVES, NODES, Tree, add_round, grow_round, workspace

ROUNDS, RATE = 100, 0.1
LARGEST = float(np.finfo(np.float32).max)
SMALLEST_CHANCE = float(np.finfo(np.float64).eps)

Floats = NDArray[np.float64]


class Boosting:
    """The classifier, with scikit-learn's interface. `longest_step` is a bound on leaves."""

    def __init__(self, seed: int = 0, longest_step: float = np.inf) -> None:
        self.seed, self.longest_step = seed, longest_step

    def fit(self, X: ArrayLike, y: ArrayLike) -> "Boosting":
        """Learn from X (rows, columns) and y (rows,), which has two values or more."""
        columns = _columns(X)
        self.classes_, target = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2 or target.shape != columns.shape[1:]:
            raise BadArray(
                "y",
                f"shape {target.shape} with {len(self.classes_)} different values",
                f"shape {columns.shape[1:]} with 2 or more",
            )
        member = (target == np.arange(len(self.classes_))[:, None]).astype(np.float64)
        self._start = _log_odds(member.mean(axis=1))
        if len(self._start) == 1:
            member = member[1:]
        size = (ROUNDS, len(self._start))
        self._trees = [
            Tree(*parts)
            for parts in zip(
                np.zeros((*size, NODES), np.intp),
                np.zeros((*size, NODES), np.float32),
                np.zeros((*size, LEAVES)),
                strict=True,
            )
        ]
        falls = self._grow(columns, member)
        self.feature_importances_ = falls / (falls.sum() or 1.0)
        self.longest_step_ = max(np.abs(trees.leaves).max() for trees in self._trees)
        return self

    def _grow(self, columns: NDArray[np.float32], member: Floats) -> Floats:
        """Fill the trees; returns each column's fall in squared error."""
        rows = columns.shape[1]
        index = np.uint16 if rows <= 2**16 else np.uint32
        order = np.argsort(columns, axis=1, kind="stable").astype(index)
        space, falls = workspace(len(columns), rows, index), np.zeros(len(columns))
        state = np.array([self.seed], np.uint64)
        raw = np.repeat(self._start[:, None], rows, axis=1)
        for trees in self._trees:
            chance = _chances(raw)
            grow_round(
                columns, order, member - chance, trees, falls, state, space, self.longest_step
            )
            if len(raw) > 1:  # Friedman's factor, as in scikit-learn
                trees.leaves[:] *= (len(raw) - 1) / len(raw)
            add_round(columns, trees, RATE, raw, space.leaf)
        return falls

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely class of every row."""
        raw = self._raw(X)
        likeliest = raw.argmax(axis=0) if len(raw) > 1 else (raw[0] >= 0).astype(np.intp)
        classes: NDArray[Any] = self.classes_[likeliest]
        return classes

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Every class's probability: (rows, classes)."""
        chance = _chances(self._raw(X))
        return chance.T if len(chance) > 1 else np.stack([1 - chance[0], chance[0]], axis=1)

    def _raw(self, X: ArrayLike) -> Floats:
        columns = _columns(X)
        raw = np.repeat(self._start[:, None], columns.shape[1], axis=1)
        leaf = np.empty(columns.shape[1], np.uint8)
        for trees in self._trees:
            add_round(columns, trees, RATE, raw, leaf)
        return raw


def _columns(codes: ArrayLike) -> NDArray[np.float32]:
    """(columns, rows) in float32, or a ValueError."""
    checked = numbers("X", codes, ("row", "column"))
    if np.abs(checked).max() > LARGEST:
        raise BadArray("X", f"{np.abs(checked).max()} in size", f"numbers to {LARGEST:g} in size")
    return np.ascontiguousarray(checked.T, np.float32)


def _log_odds(shares: Floats) -> Floats:
    """Where boosting starts: the logarithm of each class's share, one number for two classes."""
    shares = shares.clip(SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
    if len(shares) == 2:
        return cast(Floats, np.log(shares[1:] / shares[:1]))
    return cast(Floats, np.log(shares))


def _chances(raw: Floats) -> Floats:
    """Every class's probability, (classes, rows); for two classes the second's."""
    if len(raw) == 1:
        return cast(Floats, expit(raw))
    chance: Floats = np.exp(raw - raw.max(axis=0))
    chance /= chance.sum(axis=0)
    return chance
