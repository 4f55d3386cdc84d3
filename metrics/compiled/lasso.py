"""Lasso from second moments: no pass over the points, microseconds for ten regressors.

For columns X and y, all with mean 0, the minimum of |y - Xw|² / 2n + alpha |w|₁ depends on the
Gram matrix X'X / n and on X'y / n only. Cyclic coordinate descent from zero, as scikit-learn's
Lasso: where exact duplicates leave a choice of minima, both end at the same one (which depends on
the regressors' order).

Many targets of the same regressors, those of several pairs, are solved side by side, one in each
lane of the processor's vectors. A target that has converged is masked: its steps are 0 until the
slowest beside it has converged, too. There are always LANES lanes, so each of them is computed by
the same instructions in the same order: a target's coefficients are the same to the last bit,
whatever is in the other lanes. Lanes without a target hold zeros.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

LANES = 64  # targets side by side: a multiple of the widest vectors, few enough for the cache
AT_ONCE = 4  # regressors whose part is taken from a pull in one pass over the lanes
SWEEPS = 100_000
TOLERANCE = 1e-12  # largest change of a coefficient in the last sweep

Matrix = NDArray[np.float64]


@compiled("contract")
def lasso(
    gram: Matrix,
    moments: NDArray[np.float32] | Matrix,
    alphas: Matrix,
    tolerance: float = TOLERANCE,
    sweeps: int = SWEEPS,
) -> Matrix:
    """Coefficients (regressors, targets) from gram (regressors, regressors), moments (regressors,
    targets) and every target's alpha.

    A regressor that is 0 everywhere has coefficient 0.
    """
    regressors, targets = moments.shape
    padded = (regressors + AT_ONCE - 1) // AT_ONCE * AT_ONCE
    others, inverse = np.zeros((regressors, padded)), np.zeros(regressors)
    for a in range(regressors):
        if gram[a, a] != 0.0:
            inverse[a] = 1.0 / gram[a, a]
        for b in range(regressors):
            others[a, b] = gram[a, b] if a != b else 0.0
    coefficients = np.empty((regressors, targets))
    weights, products = np.empty((padded, LANES)), np.empty((regressors, LANES))
    alpha, moving = np.empty(LANES), np.empty(LANES)  # moving is 0 where converged, else 1
    pull, largest_step = np.empty(LANES), np.empty(LANES)
    for start in range(0, targets, LANES):
        lanes = min(LANES, targets - start)
        weights[:], products[:], alpha[:], moving[:] = 0.0, 0.0, 0.0, 1.0
        for a in range(regressors):
            for lane in range(lanes):
                products[a, lane] = moments[a, start + lane]
        for lane in range(lanes):
            alpha[lane] = alphas[start + lane]
        for _ in range(sweeps):
            largest_step[:] = 0.0
            for a in range(regressors):
                if inverse[a] == 0.0:
                    continue
                pull[:] = products[a]
                for b in range(0, padded, AT_ONCE):  # one load and store of a pull for four
                    g0, g1, g2, g3 = (
                        others[a, b],
                        others[a, b + 1],
                        others[a, b + 2],
                        others[a, b + 3],
                    )
                    w0, w1, w2, w3 = weights[b], weights[b + 1], weights[b + 2], weights[b + 3]
                    for lane in range(LANES):
                        rest = pull[lane] - g0 * w0[lane] - g1 * w1[lane]
                        pull[lane] = rest - g2 * w2[lane] - g3 * w3[lane]
                share, weight = inverse[a], weights[a]
                for lane in range(LANES):
                    shrunk = max(abs(pull[lane]) - alpha[lane], 0.0)
                    after = np.copysign(shrunk, pull[lane]) * share
                    step = (after - weight[lane]) * moving[lane]
                    weight[lane] += step
                    largest_step[lane] = max(largest_step[lane], abs(step))
            still_moving = 0.0
            for lane in range(LANES):
                moving[lane] = moving[lane] if largest_step[lane] > tolerance else 0.0
                still_moving += moving[lane]
            if still_moving == 0.0:
                break
        for a in range(regressors):
            for lane in range(lanes):
                coefficients[a, start + lane] = weights[a, lane]
    return coefficients


@compiled("contract")
def lasso_of_models(
    grams: Matrix,
    chosen: NDArray[np.bool_],
    products: NDArray[np.float32] | Matrix,
    first: NDArray[np.int64],
    alpha: float,
    tolerance: float,
    sweeps: int,
) -> Matrix:
    """The sizes of coefficients (regressors of all models, targets), 0 of a model without chosen
    latents.

    A model's regressors are the chosen ones of its gram (latents, latents); their rows in
    `products` are those from first[model] to before first[model + 1].
    """
    sizes, alphas = np.zeros(products.shape), np.full(products.shape[1], alpha)
    for model in range(len(grams)):
        latents = np.flatnonzero(chosen[model])
        if len(latents) == 0:
            continue
        gram = np.empty((len(latents), len(latents)))
        for a in range(len(latents)):
            for b in range(len(latents)):
                gram[a, b] = grams[model, latents[a], latents[b]]
        start, end = first[model], first[model + 1]
        coefficients = lasso(gram, products[start:end], alphas, tolerance, sweeps)
        for a in range(len(latents)):
            for target in range(len(alphas)):
                sizes[start + a, target] = abs(coefficients[a, target])
    return sizes
