"""What downstream tasks share: training sets of growing size, accuracies, statistical efficiency.

Every factor is predicted from all latents by its classifier, which learns from the first 10, 100,
1,000 and 10,000 training rows (rows are drawn independently, so that the first are as good as any).
Its accuracy is the share of all test rows for which it is right.

Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
disentangled representations", section 5.5 and appendices C and I.6. The mean over factors and the
statistical efficiency, the accuracy from 100 rows divided by that from 10,000, are the paper's; the
efficiency of 1,000 rows and the lowest accuracy over factors are the released code's.

Conventions:
- A table of fewer than 10,000 rows gives the sizes that it has rows for, and its number of rows as
  the largest.
- A factor with one value among the rows to learn from is predicted to have that value; a value that
  is absent from them is never predicted.
- Without 10,000 rows, or with an accuracy of 0 from them, there is no efficiency.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metrics.base.inputs import Score
from metrics.base.predictors import Tables

SIZES = (10, 100, 1_000, 10_000)
# The parts that downstream() gives, other than the headline.
DOWNSTREAM_PARTS = {
    "accuracy_N": "of each factor, and their mean: the accuracy on test rows after learning from "
    "the first N training rows; the score is that of the largest N",
    "train_accuracy_N": "the mean accuracy on the N rows themselves",
    "min_accuracy_N": "the lowest accuracy of a factor on test rows",
    "efficiency_N": "accuracy_N divided by accuracy_10000, for N = 100 and N = 1000",
}


class Predictor(Protocol):
    """A fitted classifier."""

    def predict(self, codes: NDArray[np.float64], /) -> NDArray[Any]: ...


def downstream(tables: Tables, learn: Callable[[int], Sequence[Predictor]]) -> list[Score]:
    """The mean test accuracy from the largest size ("score"), and DOWNSTREAM_PARTS.

    `learn(size)` gives every factor's classifier from the first `size` training rows.
    """
    mean, scores = {}, []
    for size in sizes(len(tables.codes)):
        predictors = learn(size)
        train = accuracies(predictors, tables.codes[:size], tables.factors[:size])
        test = accuracies(predictors, tables.test_codes, tables.test_factors)
        mean[size] = float(np.mean(test))
        scores += [
            Score(f"accuracy_{size}", mean[size]),
            *(Score(f"accuracy_{size}", accuracy, factor) for factor, accuracy in enumerate(test)),
            Score(f"train_accuracy_{size}", float(np.mean(train))),
            Score(f"min_accuracy_{size}", min(test)),
        ]
    most = mean.get(SIZES[-1], 0.0)
    efficiencies = [
        Score(f"efficiency_{size}", mean[size] / most) for size in SIZES[1:-1] if most > 0
    ]
    return [Score("score", mean[max(mean)]), *scores, *efficiencies]


def sizes(rows: int) -> list[int]:
    """How many rows are learned from, of so many."""
    return sorted({*(size for size in SIZES if size <= rows), min(rows, SIZES[-1])})


def accuracies(
    predictors: Sequence[Predictor], codes: NDArray[np.float64], factors: NDArray[np.int64]
) -> list[float]:
    return [
        float((predictor.predict(codes) == factor).mean())
        for predictor, factor in zip(predictors, factors.T, strict=True)
    ]
