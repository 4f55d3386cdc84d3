"""Separated attribute predictability (SAP).

For every factor and every latent, a linear support vector machine learns the factor from that
latent alone; its accuracy on the test rows is the latent's score. A factor's gap is the best
latent's accuracy minus the runner-up's; the score is the mean over factors. Near 1 where one latent
alone predicts each factor, 0 where two latents predict it equally well.

Paper: Kumar et al. 2018, "Variational inference of disentangled latent concepts from unlabeled
observations", for discrete factors as in Locatello et al. 2019, appendix C, and its released code:
C = 0.01, classes weighted by the inverse of how often they occur, squared hinge loss, one versus
the rest; trained on 10,000 rows, tested on 5,000. Family: predictor. Property: compactness.

Conventions:
- A factor with one training value leaves nothing to learn; its gap is 0 and it counts in the mean.
- A value that is absent from training is never predicted; one absent from the test counts nowhere.
- A single latent's runner-up is one that is 0 everywhere.
- Constant latents are classified like any other, as in the released code.
- Latents are not standardised, as in the released code, so that the score depends on their scale
  and shift; one with training values beyond 1e6 in size is divided down to that size, as the solver
  fails far beyond.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import SEEDS, check_tables, quiet

NEEDS = frozenset({"table", "test_table"})
LARGE = 1e6


def sap(
    codes: ArrayLike,
    factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    seed: int = 0,
    penalty: float = 0.01,
) -> list[Score]:
    """The mean gap ("score"), and every factor's gap ("gap") and best accuracy ("accuracy")."""
    return _gaps(accuracies(codes, factors, test_codes, test_factors, seed, penalty))


def _gaps(accuracy: NDArray[np.float64]) -> list[Score]:
    second, best = np.sort(accuracy, axis=0)[-2:].tolist()
    gaps = [first - other for first, other in zip(best, second, strict=True)]
    return [
        Score("score", float(np.mean(gaps))),
        *(Score("gap", gap, factor) for factor, gap in enumerate(gaps)),
        *(Score("accuracy", share, factor) for factor, share in enumerate(best)),
    ]


def accuracies(
    codes: ArrayLike,
    factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    seed: int = 0,
    penalty: float = 0.01,
) -> NDArray[np.float64]:
    """How well each latent alone predicts each factor of the test rows: (latents, factors).

    A single latent comes with a second that is 0 everywhere.
    """
    tables = check_tables(codes, factors, test_codes, test_factors)
    shrink = np.maximum(np.abs(tables.codes).max(axis=0) / LARGE, 1.0)
    latents, test_latents = tables.codes / shrink, tables.test_codes / shrink
    if latents.shape[1] == 1:
        latents, test_latents = _with_zeros(latents), _with_zeros(test_latents)
    return np.array(
        [
            [
                _accuracy(latent, factor, test_latent, test_factor, seed, penalty)
                for factor, test_factor in zip(tables.factors.T, tables.test_factors.T, strict=True)
            ]
            for latent, test_latent in zip(latents.T, test_latents.T, strict=True)
        ]
    )


def _with_zeros(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([codes, np.zeros(len(codes))])


def _accuracy(
    latent: NDArray[np.float64],
    factor: NDArray[np.int64],
    test_latent: NDArray[np.float64],
    test_factor: NDArray[np.int64],
    seed: int,
    penalty: float,
) -> float:
    from sklearn.svm import LinearSVC  # a second, which a list of metrics does not need

    if (factor == factor[0]).all():
        return float((test_factor == factor[0]).mean())
    machine = LinearSVC(C=penalty, class_weight="balanced", random_state=seed)
    with quiet():
        machine.fit(latent[:, None], factor)
    return float((machine.predict(test_latent[:, None]) == test_factor).mean())


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws one seed, the same for all classifiers."""
    seed = int(rng.integers(SEEDS))
    accuracy = accuracies(inputs.codes, inputs.factors, *inputs.test_table(), seed=seed)
    inputs.matrices["sap"] = accuracy[: inputs.codes.shape[1]]
    return _gaps(accuracy)
