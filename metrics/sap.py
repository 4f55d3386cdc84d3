"""Separated attribute predictability (SAP).

For every factor and every latent, a linear support vector machine learns the factor from that
latent alone; its accuracy on the test rows is the latent's score. A factor's gap is the best
latent's accuracy minus the runner-up's; the score is the mean over factors. Near 1 where one latent
alone predicts each factor, 0 where two latents predict it equally well.

Paper: Kumar et al. 2018, "Variational inference of disentangled latent concepts from unlabeled
observations", for discrete factors as in Locatello et al. 2019, appendix C, and its released code:
C = 0.01, classes weighted by the inverse of how often they occur, squared hinge loss, one versus
the rest; trained on 10,000 rows, tested on 5,000. Family: predictor. Property: compactness.

Two parts are the gaps as Carbonneau et al. 2022, section 4.3.3, take them: "gap_r2" of R² of a
linear regression, for factors that are numbers; "gap_tree" of the balanced accuracy of a decision
tree, for classes. Both are learned on the training rows and judged on the test rows. A latent that
is constant in training scores 0.

Conventions:
- The gap of a continuous factor is its "gap_r2", also in the score.
- A factor with one training value leaves nothing to learn; its gap is 0 and it counts in the mean.
- A value that is absent from training is never predicted; one absent from the test counts nowhere.
- A single latent's runner-up is one that is 0 everywhere.
- A constant latent predicts the commonest value (of two values, the first), as the released code's
  machines do.
- Latents are not standardised, as in the released code, so that the score depends on their scale
  and shift; one with training values beyond 1e6 in size is divided down to that size, as the solver
  fails far beyond.
- R² below 0 counts as 0.
- The tree is grown to the end on one latent, where it predicts the class of the nearest training
  row; of rows with equal latents, the class whose rows there are the largest share of it.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import Factors
from metrics.base.inputs import Inputs, Score
from metrics.base.predictors import (
    SEEDS,
    RealTables,
    Tables,
    check_real_tables,
    check_tables,
    quiet,
)

NEEDS = frozenset({"table", "test_table", "targets"})
PARTS = {
    "gap": "of each factor: the gap of which the score is the mean",
    "accuracy": "of each factor with classes: the best latent's accuracy",
    "gap_r2": "of each factor, and their mean: the gap of R²",
    "gap_tree": "of each factor with classes, and their mean: the gap of the tree's balanced "
    "accuracy",
}
LARGE = 1e6
EQUAL = 1e-12  # of the largest value: means of classes that differ by less are equal
FAR = 1e150  # of a scaled latent: its square is about the largest number

Floats = NDArray[np.float64]


def sap(
    codes: ArrayLike,
    factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    seed: int = 0,
    penalty: float = 0.01,
) -> list[Score]:
    """The mean gap ("score"), every factor's gap ("gap") and best accuracy ("accuracy"), and both
    gaps of the review, as means and per factor."""
    tables = check_tables(codes, factors, test_codes, test_factors)
    accuracy = _accuracies(tables, seed, penalty)
    return _scores(accuracy, tables, check_real_tables(*tables), ())


def _scores(
    accuracy: Floats, tables: Tables, real: RealTables, continuous: tuple[int, ...]
) -> list[Score]:
    """From the SVMs' accuracies (latents, factors), and the tables with the factors as classes and
    as real numbers."""
    columns = range(tables.factors.shape[1])
    by_regression = explained(real)
    by_tree = tree_accuracies(tables)
    best = np.where(np.isin(columns, continuous), by_regression, accuracy)
    gaps, r2, tree = _gaps(best), _gaps(by_regression), _gaps(by_tree)
    classes = [factor for factor in columns if factor not in continuous]
    parts = [("gap_r2", r2, list(columns)), ("gap_tree", tree, classes)]
    return [
        Score("score", float(gaps.mean())),
        *(Score("gap", float(gap), factor) for factor, gap in enumerate(gaps)),
        *(Score("accuracy", float(accuracy[:, factor].max()), factor) for factor in classes),
        *(Score(name, float(of[some].mean())) for name, of, some in parts if some),
        *(Score(name, float(of[factor]), factor) for name, of, some in parts for factor in some),
    ]


def _gaps(quality: Floats) -> Floats:
    """Every factor's best latent minus the runner-up."""
    second, best = np.sort(quality, axis=0)[-2:]
    gaps: Floats = best - second
    return gaps


def _accuracies(tables: Tables, seed: int, penalty: float) -> Floats:
    shrink = np.maximum(np.abs(tables.codes).max(axis=0) / LARGE, 1.0)
    latents, test_latents = _with_zeros(tables.codes / shrink, tables.test_codes / shrink)
    return np.array(
        [
            [
                _accuracy(latent, factor, test_latent, test_factor, seed, penalty)
                for factor, test_factor in zip(tables.factors.T, tables.test_factors.T, strict=True)
            ]
            for latent, test_latent in zip(latents.T, test_latents.T, strict=True)
        ]
    )


def _with_zeros(latents: Floats, test_latents: Floats) -> tuple[Floats, Floats]:
    """A single latent gets a second that is 0 everywhere."""
    if latents.shape[1] > 1:
        return latents, test_latents
    return tuple(  # type: ignore[return-value]
        np.column_stack([codes, np.zeros(len(codes))]) for codes in (latents, test_latents)
    )


def _accuracy(
    latent: Floats,
    factor: Factors,
    test_latent: Floats,
    test_factor: Factors,
    seed: int,
    penalty: float,
) -> float:
    from sklearn.svm import LinearSVC  # a second, which a list of metrics does not need

    if (known := _without_slope(latent, factor)) is not None:
        return float((test_factor == known).mean())
    machine = LinearSVC(C=penalty, class_weight="balanced", random_state=seed)
    with quiet():
        machine.fit(latent[:, None], factor)
    return float((machine.predict(test_latent[:, None]) == test_factor).mean())


def _without_slope(latent: Floats, factor: Factors) -> int | None:
    """The class that is predicted everywhere where the machine has nothing to go by, else None.

    A constant latent separates nothing, and the commonest class wins. Of two classes with equal
    means neither wins, and scikit-learn predicts the first. The solver may never end there, as its
    first gradient is nothing but rounding.
    """
    classes, counts = np.unique(factor, return_counts=True)
    if len(classes) == 2:
        one, other = (latent[factor == value].mean() for value in classes)
        return int(classes[0]) if abs(one - other) <= EQUAL * np.abs(latent).max() else None
    if len(classes) == 1 or latent.min() == latent.max():
        return int(classes[counts.argmax()])
    return None


def explained(tables: RealTables) -> Floats:
    """R² on the test rows of a linear regression of each factor on each latent, at least 0:
    (latents, factors)."""
    latents, test_latents = _with_zeros(tables.codes, tables.test_codes)
    scale = np.where(np.ptp(latents, axis=0) > 0, np.abs(latents).max(axis=0), 1.0)
    with np.errstate(over="ignore"):  # test rows far outside: their errors are infinite
        return _explained(tables, latents / scale, np.clip(test_latents / scale, -FAR, FAR))


def _explained(tables: RealTables, latents: Floats, test_latents: Floats) -> Floats:
    mean, targets_mean = latents.mean(axis=0), tables.targets.mean(axis=0)
    centred, targets = latents - mean, tables.targets - targets_mean
    spread = np.square(centred).sum(axis=0)[:, None]
    slopes = np.divide(
        centred.T @ targets, spread, out=np.zeros((len(mean), len(targets_mean))), where=spread > 0
    )
    errors = np.stack(
        [
            np.square(tables.test_targets - targets_mean - np.outer(latent - at, slope)).sum(axis=0)
            for latent, at, slope in zip(test_latents.T, mean, slopes, strict=True)
        ]
    )
    around_mean = np.square(tables.test_targets - tables.test_targets.mean(axis=0)).sum(axis=0)
    left = np.divide(errors, around_mean, out=np.ones_like(errors), where=around_mean > 0)
    learned = (np.ptp(latents, axis=0) > 0)[:, None] & (np.ptp(tables.targets, axis=0) > 0)
    quality: Floats = np.where(learned, np.maximum(1 - left, 0.0), 0.0)
    return quality


def tree_accuracies(tables: Tables) -> Floats:
    """Balanced accuracy on the test rows of a decision tree that is grown to the end on one latent,
    its classes weighted by the inverse of their rows: (latents, factors)."""
    latents, test_latents = _with_zeros(tables.codes, tables.test_codes)
    quality = np.zeros((latents.shape[1], tables.factors.shape[1]))
    for place, (latent, test_latent) in enumerate(zip(latents.T, test_latents.T, strict=True)):
        if latent.min() == latent.max():
            continue
        values, group = np.unique(latent, return_inverse=True)
        nearest = np.searchsorted((values[1:] + values[:-1]) / 2, test_latent)
        for column, (factor, test) in enumerate(
            zip(tables.factors.T, tables.test_factors.T, strict=True)
        ):
            if (factor != factor[0]).any():
                classes = _likeliest(group, factor)
                quality[place, column] = _balanced(classes[nearest], test)
    return quality


def _likeliest(group: NDArray[np.intp], factor: Factors) -> Factors:
    """For every group of rows, the class of which it holds the largest share; the lowest of equal
    ones."""
    classes, own, counts = np.unique(factor, return_inverse=True, return_counts=True)
    cells, rows = np.unique(group * len(classes) + own, return_counts=True)
    group_of, class_of = np.divmod(cells, len(classes))
    order = np.lexsort((class_of, -rows / counts[class_of], group_of))
    first = np.unique(group_of[order], return_index=True)[1]
    likeliest: Factors = classes[class_of[order[first]]]
    return likeliest


def _balanced(predicted: Factors, factor: Factors) -> float:
    """The mean over the factor's values of the share of its rows that are predicted."""
    _, own, counts = np.unique(factor, return_inverse=True, return_counts=True)
    return float((np.bincount(own, predicted == factor, len(counts)) / counts).mean())


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws one seed, the same for all classifiers."""
    tables = check_tables(inputs.codes, inputs.factors, *inputs.test_table())
    accuracy = _accuracies(tables, int(rng.integers(SEEDS)), penalty=0.01)
    inputs.matrices["sap"] = accuracy[: inputs.codes.shape[1]]
    real = check_real_tables(*inputs.real_tables())
    return _scores(accuracy, tables, real, inputs.continuous)
