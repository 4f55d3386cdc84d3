"""What the paper leaves open: every choice by its name. docs/choices.md says why."""

from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Literal, get_args

from metrics.base.arrays import BadArray

Estimator = Literal["biased", "unbiased"]

LEAST = {  # whole numbers
    "snapshots": 2,
    "components": 0,
    "neighbours": 1,
    "snapshot_neighbours": 1,
    "t": 1,
    "dimensions": 1,
    "points": 0,
    "draws": 1,
}
POSITIVE = ("decay", "snapshot_bandwidth", "kernel_bandwidth")
FLAGS = ("standardised", "drop_first", "scaled")


@dataclass(frozen=True)
class Settings:
    """How models are compared by their training dynamics."""

    snapshots: int | None = None  # so many, evenly spaced with the first and the last; None: all
    layers: tuple[str, ...] | None = None  # whose units are taken, by their names; None: all
    standardised: bool = False  # activations of a sample get mean 0 and deviation 1 over its units
    components: int = 100  # principal components, where there are more units; 0: all units
    neighbours: int = 2  # a sample's bandwidth is the distance to its neighbour of this rank
    decay: float = 5.0  # alpha, the exponent of that distance divided by the bandwidth
    snapshot_neighbours: int = 25  # epsilon is of the distances to the snapshot of this rank
    snapshot_bandwidth: float | None = None  # epsilon itself; None: from snapshot_neighbours
    t: int = 10  # steps of the diffusion
    dimensions: int = 2  # of the joint embedding
    drop_first: bool = True  # leave out the first singular vector, which is nearly constant
    scaled: bool = False  # multiply singular vectors by their singular values
    kernel_bandwidth: float | None = None  # of MMD; None: the median distance in the embedding
    estimator: Estimator = "biased"  # of MMD²
    points: int = 2000  # of each model's embedding, which MMD compares; 0: all
    draws: int = 2000  # of the bootstrap
    level: float = 0.95  # of its interval

    def __post_init__(self) -> None:
        """Raise a BadArray unless every value is one that can be computed with."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if accepted := _accepted(field.name, value):
                none = " or null" if field.default is None else ""
                raise BadArray(field.name, repr(value), accepted + none)


def _accepted(name: str, value: Any) -> str:
    """What the setting may be, if it may not be this value, else nothing."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if name in FLAGS:
        return "" if isinstance(value, bool) else "true or false"
    if name in LEAST:
        right = whole and value >= LEAST[name] and (name, value) != ("points", 1)
        zero = {"components": "0 for all units, or ", "points": "0 for all, or "}.get(name, "")
        least = {"components": 1, "points": 2}.get(name, LEAST[name])
        return "" if right else f"{zero}a whole number from {least}"
    if name in POSITIVE:
        right = (whole or isinstance(value, float)) and isfinite(value) and value > 0
        return "" if right else "a number above 0"
    if name == "level":
        return "" if isinstance(value, float) and 0 < value < 1 else "a number between 0 and 1"
    if name == "estimator":
        return "" if value in get_args(Estimator) else " or ".join(get_args(Estimator))
    right = isinstance(value, tuple) and value and all(isinstance(word, str) for word in value)
    return "" if right else "a list of names of layers"
