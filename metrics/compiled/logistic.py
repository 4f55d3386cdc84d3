"""Logistic regression with a ridge penalty chosen by cross-validation, faster than scikit-learn's.

The procedure of scikit-learn's LogisticRegressionCV(Cs=10, cv=KFold(5)), as in version 1.9: the
loss is the mean log-loss plus |coefficients|² / (2 C rows), intercepts free (softmax.py);
one set of coefficients per class, one in all for two classes. The rows are cut into five folds in
their order. On the rows outside each fold, C goes from 1e-4 to 1e4 in ten steps, each starting from
the solution before; the C with the highest mean accuracy on the folds is taken, the smallest of
equals, and all rows are fitted from the mean of its five solutions. The optimiser and its settings
are scikit-learn's, L-BFGS for 100 iterations at most.

Where it converges, coefficients agree with scikit-learn's to the optimiser's tolerance. Where it
stops at 100 iterations, which is the rule for large C, a rounding in the loss grows from iteration
to iteration: the end differs as much as between two orders of the latents in scikit-learn itself.

Conventions:
- A class that the rows outside a fold lack has an intercept that falls as far as the iterations
  carry it, as in scikit-learn.
- With fewer than five rows every row is a fold, and rows of one class predict it, where
  scikit-learn raises an error.
- An optimiser that fails leaves its last point, without a warning.
- Latents with values beyond 1e6 in size are divided down to that size, as the optimiser fails far
  beyond.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from metrics.compiled.softmax import SoftmaxLoss

Floats = NDArray[np.float64]

GRID = np.logspace(-4, 4, 10)
FOLDS = 5
LARGE = 1e6
SETTINGS = {
    "maxiter": 100,
    "maxls": 50,  # steps of one line search
    "gtol": 1e-4,  # of the gradient's largest entry
    "ftol": 64 * float(np.finfo(np.float64).eps),
}


@dataclass(frozen=True)
class Logistic:
    """A fitted classifier; `coef` and `intercept` have one row for two classes, none for one."""

    classes: NDArray[Any]  # (classes,)
    coef: Floats  # (classes, latents)
    intercept: Floats  # (classes,)
    C: float  # no number if there is one class, and nothing to choose
    accuracies: Floats  # on each fold with each C: (folds, 10)

    def predict(self, codes: Floats) -> NDArray[Any]:
        """The class of the highest score, the first of equals."""
        return self.classes[_highest(codes, self.coef, self.intercept)]


def learn(codes: Floats, values: NDArray[Any]) -> Logistic:
    """Learn which of its values every row has, from (rows, latents) codes."""
    classes, target = np.unique(values, return_inverse=True)
    latents = codes.shape[1]
    if len(classes) < 2:
        return Logistic(classes, np.zeros((0, latents)), np.zeros(0), np.nan, np.zeros((0, 10)))
    shrink = np.maximum(np.abs(codes).max(axis=0) / LARGE, 1.0)
    codes = codes / shrink
    folds = np.array_split(np.arange(len(codes)), min(FOLDS, len(codes)))
    paths = [
        _path(np.delete(codes, fold, 0), np.delete(target, fold), len(classes), GRID)
        for fold in folds
    ]
    accuracies = np.array(
        [
            [
                np.mean(_highest(codes[fold], end[:, :-1], end[:, -1]) == target[fold])
                for end in path
            ]
            for fold, path in zip(folds, paths, strict=True)
        ]
    )
    best = int(accuracies.sum(axis=0).argmax())
    start = np.mean([path[best] for path in paths], axis=0)
    (end,) = _path(codes, target, len(classes), GRID[[best]], start)
    return Logistic(classes, end[:, :-1] / shrink, end[:, -1], float(GRID[best]), accuracies)


def _path(
    codes: Floats,
    target: NDArray[np.intp],
    classes: int,
    grid: Floats,
    start: Floats | None = None,
) -> list[Floats]:
    """The solution for every C, each (classes, latents and intercept)."""
    loss = SoftmaxLoss(codes, target, classes)
    point = loss.start if start is None else start.ravel()
    path = []
    for C in grid:
        ridge = (1 / (C * len(codes)),)
        result = minimize(loss, point, args=ridge, jac=True, method="L-BFGS-B", options=SETTINGS)
        point = result.x
        path.append(point.reshape(-1, codes.shape[1] + 1))
    return path


def _highest(codes: Floats, coef: Floats, intercept: Floats) -> NDArray[np.intp]:
    """The number of every row's class."""
    scores = codes @ coef.T + intercept
    if len(intercept) < 2:  # against a score of 0
        scores = np.column_stack([np.zeros(len(codes)), scores])
    highest: NDArray[np.intp] = np.argmax(scores, axis=1)
    return highest
