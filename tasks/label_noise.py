"""What metrics read of a model where labels of factors are wrong (docs/choices.md).

The draws are those of the inputs without noise; the noise has streams of its own, which are the
same for all regimes. So p = 0 gives the clean inputs, to the bit.

- Of a table the labels are perturbed: codes stay.
- Where a group says that its points share the value of a factor, the points' own values of it are
  perturbed: other pictures are encoded. In pairs this is the factor that a pair shares, in
  variations every factor but the one that varies, in interventions the factor that is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base.protocol import DataSet, Factors, HasTargets, Targets
from metrics.base.inputs import Inputs
from metrics.base.label_noise import Noise, noisy_reals, noisy_values
from tasks.streams import Streams

WITHOUT_GROUPS: dict[str, Any] = dict.fromkeys(
    (
        "train_groups",
        "test_groups",
        "train_pairs",
        "test_pairs",
        "train_variations",
        "test_variations",
        "interventions",
    )
)


def noise_stream(streams: Streams, purpose: str, factor: str) -> np.random.Generator:
    return streams(f"label noise, {purpose}, {factor}")


def without_groups(inputs: Inputs) -> Inputs:
    """The tables alone, and nothing that was learned from them."""
    return replace(inputs, **WITHOUT_GROUPS, impossible={})


def perturbed(
    points: Factors,
    is_noisy: NDArray[np.bool_],
    noise: Mapping[int, Noise],
    data_set: DataSet,
    streams: Streams,
    purpose: str,
) -> Factors:
    """Points (n, ..., factors) with noise where `is_noisy` (n, factors) says so."""
    points = points.copy()
    for place, of_factor in noise.items():
        rows = np.flatnonzero(is_noisy[:, place])
        draws = noise_stream(streams, purpose, data_set.factor_names[place])
        points[rows, ..., place] = noisy_values(points[rows, ..., place], of_factor, draws)
    return points


def with_noisy_tables(
    clean: Inputs, noise: Mapping[int, Noise], data_set: DataSet, streams: Streams
) -> Inputs:
    """All tables with noise on their labels, without what was learned from the clean ones."""
    changed: dict[str, Any] = {}
    for purpose, start in (("table", ""), ("test table", "test_")):
        factors, targets = getattr(clean, f"{start}factors"), getattr(clean, f"{start}targets")
        if factors is not None:
            every = np.ones(factors.shape, bool)
            noisy = perturbed(factors, every, noise, data_set, streams, purpose)
            changed[f"{start}factors"] = noisy
            changed[f"{start}targets"] = targets
            if targets is not None:
                changed[f"{start}targets"] = _noisy_targets(
                    targets, noisy, noise, data_set, streams, purpose
                )
    for split in ("validation", "zero_shot"):
        if (targets := getattr(clean, f"{split}_targets")) is not None:
            purpose = f"{split} table"
            values = {place: of for place, of in noise.items() if place not in data_set.continuous}
            every = np.ones(targets.shape, bool)
            noisy = perturbed(targets.astype(np.int64), every, values, data_set, streams, purpose)
            changed[f"{split}_targets"] = _noisy_targets(
                targets, noisy, noise, data_set, streams, purpose
            )
    return replace(clean, **changed)


def _noisy_targets(
    targets: Targets,
    noisy: Factors,
    noise: Mapping[int, Noise],
    data_set: DataSet,
    streams: Streams,
    purpose: str,
) -> Targets:
    """Real values with noise of the same draws as their bins; of other factors the noisy values."""
    targets = targets.copy()
    for place, of_factor in noise.items():
        if place in data_set.continuous:
            low, high = _range(data_set, place)
            draws = noise_stream(streams, purpose, data_set.factor_names[place])
            targets[:, place] = noisy_reals(targets[:, place], of_factor, low, high, draws)
        else:
            targets[:, place] = noisy[:, place]
    return targets


def _range(data_set: DataSet, place: int) -> tuple[float, float]:
    if not isinstance(data_set, HasTargets) or not data_set.pictures:
        raise TypeError(f"{data_set.name} has continuous factors and no targets")
    values = data_set.targets(np.arange(data_set.pictures))[:, place]
    return float(values.min()), float(values.max())
