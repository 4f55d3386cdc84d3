"""Unfairness: how far predictions of one factor depend on another.

Boosted trees learn every factor, the target, from the codes. Every other factor, the sensitive one,
is set to each of its values in turn, on the same points and with nothing else changed, and the
target is predicted. A value's total variation is half the sum, over predictions, of how much their
share under that value differs from their share under all values. The score is its mean over values,
then over sensitive factors, then over targets: 0 is fair and less is better. With k values to set,
their mean is at most 1 - 1/k.

Paper: Locatello et al. 2019b, "On the fairness of disentangled representations", as used by Duan et
al. 2020, appendix A.8, and Holtz et al. 2022, section 4, and in the released code, where the score
is mean_fairness:mean_pred:mean_sens: trees learned on 10,000 points, and 100 points under each
value. Family: predictor, on interventions. Property: fairness.

The parts' names have their steps in order (the released names run backwards):
- "max_variation_mean_sensitive_max_target" is the largest over values, their mean over sensitive
  factors, the largest over targets; "max_variation_max_target_mean_sensitive" takes the targets
  first.
- Of a factor: "target" is its mean as the target over sensitive factors, "sensitive" its mean as
  the sensitive one over targets, "mean_variation target 2" and "max_variation target 2" what target
  2 has with it as sensitive.

Conventions:
- All targets see the same points of a sensitive factor, so that they are encoded once; the released
  code draws new ones for each target.
- With one factor there is no other, and the score is 0.
- Setting a factor to its only value changes nothing: 0.
- A target with one training value and constant codes have 0 too: predictions that never change are
  fair, so read the score together with an accuracy.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import BadArray, Codes, numbers, whole_numbers
from metrics.base.inputs import Inputs, Score
from metrics.base.trees import Classifier

NEEDS = frozenset({"table", "interventions"})
PARTS = {
    "STEP_variation_STEP_sensitive_STEP_target": "total variation: first over values, then over "
    "sensitive factors, last over targets; three means are the score",
    "STEP_variation_STEP_target_STEP_sensitive": "the same, over targets before sensitive factors",
    "target": "of each factor: its mean as the target over sensitive factors",
    "sensitive": "of each factor: its mean as the sensitive one over targets",
    "STEP_variation target N": "of each factor as the sensitive one: the total variation of target "
    "N, over values",
}
STEPS: Mapping[str, Callable[..., Any]] = {"mean": np.mean, "max": np.max}


def total_variation(counts: ArrayLike) -> tuple[float, float]:
    """Of counts (predictions, values): the mean over values, by their counts, and the largest.

    A value without counts has no distance.
    """
    table = numbers("counts", counts, ("prediction", "value")).astype(np.float64)
    if table.min() < 0 or not table.any():
        found = f"{table.min():g} to {table.max():g}"
        raise BadArray("counts", found, "numbers from 0, not all of them 0")
    table = table[:, table.any(axis=0)]
    of_value = table.sum(axis=0)
    overall = table.sum(axis=1, keepdims=True) / table.sum()
    distance = np.abs(table / of_value - overall).sum(axis=0) / 2
    return float(distance @ of_value / of_value.sum()), float(distance.max())


def unfairness(predictions: Sequence[Mapping[int, ArrayLike]]) -> list[Score]:
    """All parts, from every target's predictions (values, points) by sensitive factor."""
    size = len(predictions)
    variation = np.zeros((2, size, size))  # mean and largest over values; target; sensitive
    for target, by_sensitive in enumerate(predictions):
        others = [factor for factor in range(size) if factor != target]
        if sorted(by_sensitive) != others:
            raise BadArray(f"predictions[{target}]", str(sorted(by_sensitive)), str(others))
        for sensitive, labels in by_sensitive.items():
            labels = whole_numbers("predictions", labels, ("value", "point"))
            counts = [(labels == label).sum(axis=1) for label in np.unique(labels)]
            variation[:, target, sensitive] = total_variation(counts)
    of_target = _others(variation[0]).mean(axis=1).tolist()
    of_sensitive = _others(variation[0].T).mean(axis=1).tolist()
    return [
        Score("score", float(np.mean(of_target))),
        *_combined("mean_variation", variation[0]),
        *_combined("max_variation", variation[1]),
        *(Score("target", value, factor) for factor, value in enumerate(of_target)),
        *(Score("sensitive", value, factor) for factor, value in enumerate(of_sensitive)),
        *(
            Score(f"{name} target {target}", float(pairs[target, sensitive]), sensitive)
            for name, pairs in zip(("mean_variation", "max_variation"), variation, strict=True)
            for target, by_sensitive in enumerate(predictions)
            for sensitive in sorted(by_sensitive)
        ),
    ]


def _others(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every row without its own column; of one factor, its 0."""
    size = len(pairs)
    return pairs[~np.eye(size, dtype=np.bool_)].reshape(size, size - 1) if size > 1 else pairs


def _combined(name: str, pairs: NDArray[np.float64]) -> list[Score]:
    """Means and largest over one factor of means and largest over the other, in either order."""
    return [
        Score(
            f"{name}_{step}_{first}_{last_step}_{last}",
            float(STEPS[last_step](STEPS[step](rows, axis=1))),
        )
        for first, last, rows in (
            ("sensitive", "target", _others(pairs)),
            ("target", "sensitive", _others(pairs.T)),
        )
        for step, last_step in product(STEPS, STEPS)
    ]


def _predictions(classifier: Classifier, points: Mapping[int, Codes]) -> dict[int, NDArray[Any]]:
    """Predictions for every factor's points (values, points, latents), in one call."""
    if not points:
        return {}
    rows = np.concatenate([np.concatenate(codes) for codes in points.values()])
    ends = np.cumsum([codes[..., 0].size for codes in points.values()])
    parts = zip(points.items(), np.split(classifier.predict(rows), ends[:-1]), strict=True)
    return {factor: part.reshape(codes.shape[:2]) for (factor, codes), part in parts}


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws nothing; the seed of the trees is the inputs'."""
    points = dict(enumerate(inputs.intervened()))
    return unfairness(
        [
            _predictions(trees, {factor: points[factor] for factor in points if factor != target})
            for target, trees in enumerate(inputs.boosted)
        ]
    )
