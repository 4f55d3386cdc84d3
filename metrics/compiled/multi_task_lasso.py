"""Multi-task lasso with its penalty chosen by cross-validation, from second moments of folds.

For regressors X and several targets Y of the same points, the minimum of
|Y - XW|² / 2n + alpha · sum over regressors a of |W[a]|₂ takes a regressor for all targets or for
none. 100 penalties are tried, evenly spaced in their logarithm from the smallest that leaves no
regressor down to a thousandth of it; the one with the lowest squared error, averaged over the folds
held out one by one, is used on all points. As scikit-learn's MultiTaskLassoCV: each set of
points is centred by its own mean, penalties are solved from the largest down, each from the one
before by cyclic coordinate descent, until no coefficient moves by more than the tolerance, relative
to the largest, and the duality gap is below the tolerance times |Y|², or the sweeps are used up.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

PENALTIES = 100
SMALLEST = 1e-3  # penalty, as a share of the largest
CONSTANT = 1e-12  # a standardised latent's variance that is only rounding

Matrix = NDArray[np.float64]


@compiled("contract")
def _centred(
    gram: Matrix,
    moment: Matrix,
    square: float,
    mean: Matrix,
    target_mean: Matrix,
    centre: Matrix,
    target_centre: Matrix,
    share: float,
) -> tuple[Matrix, Matrix, float]:
    """X'X / n, X'Y / n and |Y|² / n of a share of the points, X and Y taken from their centres."""
    own_gram, own_moment = gram / share, moment / share
    own_mean, own_target_mean = mean / share, target_mean / share
    for a in range(len(centre)):
        for b in range(len(centre)):
            own_gram[a, b] += centre[a] * (centre[b] - own_mean[b]) - own_mean[a] * centre[b]
        for t in range(len(target_centre)):
            apart = target_centre[t] - own_target_mean[t]
            own_moment[a, t] += centre[a] * apart - own_mean[a] * target_centre[t]
    shift = np.sum(target_centre * (target_centre - 2 * own_target_mean))
    return own_gram, own_moment, square / share + shift


@compiled("contract")
def _descend(
    points: tuple[Matrix, Matrix, float],
    alpha: float,
    tolerance: float,
    sweeps: int,
    coefficients: Matrix,
    residual: Matrix,
) -> bool:
    """Improve the coefficients and their residual X'(Y - XW) / n in place; whether any changed."""
    gram, moment, square = points
    regressors, targets = moment.shape
    pull = np.empty(targets)
    for sweep in range(sweeps):
        if sweep == 0 and _gap(points, alpha, coefficients, residual) <= tolerance * square:
            return False
        largest, largest_step = 0.0, 0.0
        for a in range(regressors):
            size, weight, left = gram[a, a], coefficients[a], residual[a]
            if size <= CONSTANT:
                continue
            length = 0.0
            for t in range(targets):
                pull[t] = left[t] + size * weight[t]
                length += pull[t] * pull[t]
            scale = max(1.0 - alpha / np.sqrt(length), 0.0) / size if length > 0.0 else 0.0
            moved = 0.0
            for t in range(targets):
                after = pull[t] * scale
                pull[t] = after - weight[t]
                weight[t] = after
                moved = max(moved, abs(pull[t]))
                largest = max(largest, abs(after))
            largest_step = max(largest_step, moved)
            if moved > 0.0:
                for b in range(regressors):
                    shared, other = gram[a, b], residual[b]
                    for t in range(targets):
                        other[t] -= shared * pull[t]
        if (
            largest_step <= tolerance * largest
            and _gap(points, alpha, coefficients, residual) <= tolerance * square
        ):
            break
    return True


@compiled("contract")
def _gap(
    points: tuple[Matrix, Matrix, float], alpha: float, coefficients: Matrix, residual: Matrix
) -> float:
    """How far the objective can at most be above its minimum."""
    _, moment, square = points
    explained, unexplained, penalty, strongest = 0.0, 0.0, 0.0, 0.0
    for a in range(len(coefficients)):
        length, pulled = 0.0, 0.0
        for t in range(coefficients.shape[1]):
            weight, left = coefficients[a, t], residual[a, t]
            explained += weight * moment[a, t]
            unexplained += weight * left
            length += weight * weight
            pulled += left * left
        penalty += np.sqrt(length)
        strongest = max(strongest, pulled)
    strongest = np.sqrt(strongest)
    # The residual R, scaled until X'R obeys the penalty, is a point of the dual problem.
    scale = min(1.0, alpha / strongest) if strongest > 0.0 else 1.0
    residual_square = square - explained - unexplained
    dual = scale * (square - explained) - 0.5 * scale * scale * residual_square
    return 0.5 * residual_square + alpha * penalty - dual


@compiled("contract")
def _error(points: tuple[Matrix, Matrix, float], coefficients: Matrix) -> float:
    """|Y - XW|² / n, summed over targets."""
    gram, moment, square = points
    error = square
    for a in range(len(gram)):
        for t in range(moment.shape[1]):
            error -= 2 * coefficients[a, t] * moment[a, t]
        for b in range(len(gram)):
            product = 0.0
            for t in range(moment.shape[1]):
                product += coefficients[a, t] * coefficients[b, t]
            error += gram[a, b] * product
    return error


@compiled("contract")
def cross_validated(
    grams: Matrix,
    moments: Matrix,
    means: Matrix,
    target_means: Matrix,
    target_squares: Matrix,
    shares: Matrix,
    tolerance: float,
    sweeps: int,
) -> tuple[Matrix, float]:
    """Coefficients (regressors, targets) and the penalty.

    Per fold, as sums over its points divided by the number of all points: grams (folds, regressors,
    regressors), moments (folds, regressors, targets), means (folds, regressors), target_means and
    target_squares (folds, targets), shares (folds,).
    """
    folds, regressors, targets = moments.shape
    gram, moment = grams.sum(axis=0), moments.sum(axis=0)
    mean, target_mean = means.sum(axis=0), target_means.sum(axis=0)
    square = target_squares.sum()
    whole = _centred(gram, moment, square, mean, target_mean, mean, target_mean, 1.0)
    largest = 0.0
    for a in range(regressors):
        largest = max(largest, np.sqrt(np.sum(whole[1][a] ** 2)))
    if largest == 0.0:  # nothing to predict, or nothing to predict it from
        return np.zeros((regressors, targets)), 0.0
    penalties = largest * SMALLEST ** (np.arange(PENALTIES) / (PENALTIES - 1))
    errors = np.zeros(PENALTIES)
    for fold in range(folds):
        share, rest = shares[fold], 1.0 - shares[fold]
        centre = (mean - means[fold]) / rest
        target_centre = (target_mean - target_means[fold]) / rest
        fold_square = target_squares[fold].sum()
        train = _centred(
            gram=gram - grams[fold],
            moment=moment - moments[fold],
            square=square - fold_square,
            mean=mean - means[fold],
            target_mean=target_mean - target_means[fold],
            centre=centre,
            target_centre=target_centre,
            share=rest,
        )
        held_out = _centred(
            gram=grams[fold],
            moment=moments[fold],
            square=fold_square,
            mean=means[fold],
            target_mean=target_means[fold],
            centre=centre,
            target_centre=target_centre,
            share=share,
        )
        coefficients, residual = np.zeros((regressors, targets)), train[1].copy()
        error = held_out[2]
        for number in range(PENALTIES):
            if _descend(
                train, penalties[number], tolerance, sweeps, coefficients, residual
            ):  # else all is as for the penalty before
                error = _error(held_out, coefficients)
            errors[number] += error
    alpha = penalties[np.argmin(errors)]
    coefficients, residual = np.zeros((regressors, targets)), whole[1].copy()
    _descend(whole, alpha, tolerance, sweeps, coefficients, residual)
    return coefficients, alpha
