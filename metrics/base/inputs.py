"""What metrics read and what they return, checked in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from metrics.base.arrays import BadArray, Codes, Factors, check, numbers, whole_numbers
from metrics.base.trees import Classifier, Kind, bounded, learn

Part = TypeVar("Part")
Reals: TypeAlias = NDArray[np.float64]
# What a metric reads, or what makes it when it is read: the codes of all groups of a study's model
# are 150 MB, and no metric reads more than one kind of them.
OrMade: TypeAlias = Part | Callable[[], Part] | None

BINS = 20  # Locatello et al. 2019, appendix C
# Points under each value of a factor: the released configuration of Locatello et al. 2019b, "On
# the fairness of disentangled representations". Duan et al. 2020, appendix A.8, does not say.
INTERVENED = 100


@dataclass(frozen=True)
class Score:
    """One number of a metric; its headline has part "score" and no factor."""

    part: str
    value: float
    factor: int | None = None


@dataclass(frozen=True)
class Groups:
    """Groups of points that share the value of one factor; `factor` is which."""

    codes: Codes  # (groups, size, latents)
    factor: Factors  # (groups,)


@dataclass(frozen=True)
class Pairs:
    """Sets of pairs of points: both of a pair share the value of one factor, `factor`.

    The value may differ from pair to pair.
    """

    first: Codes  # (sets, pairs, latents)
    second: Codes  # (sets, pairs, latents)
    factor: Factors  # (sets,)


@dataclass(frozen=True)
class Learned:
    """What agents did that learned a task. `steps` is nan of one whose budget of steps ended before
    it had learned the task."""

    steps: Reals  # (agents,)
    success: Reals  # (agents,): share of the last test's scenes
    other_hues: Reals  # (agents,): the same with colours that are new to the agent
    budget: int


@dataclass(frozen=True)
class Inputs:
    """All that metrics may read of one model. What no chosen metric needs may stay None.

    A metric's NEEDS names "table" (codes, factors), "test_table" (test_codes, test_factors),
    "targets" (the factors as real numbers, for a metric that predicts those; every other metric
    reads a continuous factor's bins), "groups" (train_groups, test_groups: points that share one
    factor's value), "pairs" (train_pairs, test_pairs), "variations" (train_variations,
    test_variations: groups of points that share the values of all factors but `factor`),
    "interventions" (for every factor, the same points under each of its values), "posterior" (of
    every row of the codes: log-variances and the loss of reconstruction; no factors) and "agents"
    (learn_clustering, which lets agents learn a task that see the world by the model's codes).

    Where the data set's authors say which rows are for what, metrics that need "targets" are also
    given validation rows, to choose the settings of a predictor, and zero-shot rows, whose
    combinations of factors no other rows have.
    """

    codes: Codes  # (points, latents)
    factors: Factors  # (points, factors)
    train_groups: OrMade[Groups] = None
    test_groups: OrMade[Groups] = None
    test_codes: Codes | None = None
    test_factors: Factors | None = None
    targets: NDArray[np.float64] | None = None  # (points, factors); None: the factors
    test_targets: NDArray[np.float64] | None = None
    validation_codes: Codes | None = None
    validation_targets: NDArray[np.float64] | None = None
    zero_shot_codes: Codes | None = None
    zero_shot_targets: NDArray[np.float64] | None = None
    continuous: tuple[int, ...] = ()  # columns of factors that hold bins of real numbers
    train_pairs: OrMade[Pairs] = None
    test_pairs: OrMade[Pairs] = None
    train_variations: OrMade[Groups] = None
    test_variations: OrMade[Groups] = None
    interventions: tuple[Codes, ...] | None = None  # per factor (values, points, latents)
    logvar: Codes | None = None  # (points, latents)
    reconstruction: NDArray[np.floating[Any]] | None = None  # (points,), nats
    learn_clustering: Callable[[np.random.Generator], Learned] | None = None
    trees: Kind = "presorted"
    tree_seed: int = 0
    impossible: Mapping[str, str] = field(default_factory=dict)  # a kind of groups, and why

    def groups(self) -> tuple[Groups, Groups]:
        """The training and the test groups, for metrics that need "groups"."""
        return self._both("groups", self.train_groups, self.test_groups)

    def pairs(self) -> tuple[Pairs, Pairs]:
        """The training and the test pairs, for metrics that need "pairs"."""
        return self._both("pairs", self.train_pairs, self.test_pairs)

    def variations(self) -> tuple[Groups, Groups]:
        """The training and the test variations, for metrics that need "variations"."""
        return self._both("variations", self.train_variations, self.test_variations)

    def intervened(self) -> tuple[Codes, ...]:
        """Each factor's points under each of its values, for metrics that need "interventions"."""
        if self.interventions is None:
            needed = "inputs: interventions is None; an array per factor is accepted"
            raise ValueError(self.impossible.get("interventions", needed))
        factors, latents = self.factors.shape[1], self.codes.shape[1]
        if len(self.interventions) != factors:
            arrays = f"{len(self.interventions)} arrays"
            raise BadArray("interventions", arrays, f"{factors}, one for each factor")
        return tuple(
            _points_by_value(f"interventions[{factor}]", codes, latents)
            for factor, codes in enumerate(self.interventions)
        )

    def _both(self, kind: str, train: OrMade[Part], test: OrMade[Part]) -> tuple[Part, Part]:
        if train is None or test is None:
            needed = f"inputs: train_{kind} or test_{kind} is None; both are accepted"
            raise ValueError(self.impossible.get(kind, needed))
        return made(train), made(test)

    def test_table(self) -> tuple[Codes, Factors]:
        """The test rows, for metrics that need "test_table"."""
        if self.test_codes is None or self.test_factors is None:
            raise ValueError("inputs: test_codes or test_factors is None; two arrays are accepted")
        return self.test_codes, self.test_factors

    def real_tables(self) -> tuple[Codes, Reals, Codes, Reals]:
        """Codes and real-valued factors of both tables, for metrics that need "targets"."""
        test_codes, test_factors = self.test_table()
        targets = self.factors if self.targets is None else self.targets
        test_targets = test_factors if self.test_targets is None else self.test_targets
        return self.codes, np.asarray(targets, float), test_codes, np.asarray(test_targets, float)

    def validation(self) -> tuple[Codes, Reals] | None:
        """Codes and real-valued factors of the validation rows; None where there are none."""
        return _rows("validation", self.validation_codes, self.validation_targets)

    def zero_shot(self) -> tuple[Codes, Reals] | None:
        """Codes and real-valued factors of the zero-shot rows; None where there are none."""
        return _rows("zero_shot", self.zero_shot_codes, self.zero_shot_targets)

    @cached_property
    def labels(self) -> Factors:
        """Every latent's bin of 20 equal ones over its range: computed once for all metrics."""
        from metrics.base.information import (
            discretise,  # scipy, which a list of metrics does not need
        )

        codes, _ = check(self.codes, self.factors)
        return discretise(codes, BINS)

    @cached_property
    def information(self) -> NDArray[np.float64]:
        """Mutual information of every latent's bin with every factor: (latents, factors), nats."""
        from metrics.base.information import mutual_information

        return mutual_information(self.labels, check(self.codes, self.factors)[1])

    @cached_property
    def boosted(self) -> list[Classifier]:
        """Boosted trees that predict each factor from the codes: learned once for all metrics."""
        return learn(*check(self.codes, self.factors), self.trees, self.tree_seed)

    @cached_property
    def bounded(self) -> list[Classifier]:
        """The same trees without steps so long that rounding decides (metrics/base/trees.py)."""
        return bounded(self.boosted, *check(self.codes, self.factors), self.tree_seed)

    @cached_property
    def matrices(self) -> dict[str, NDArray[np.float64]]:
        """By metric, (latents, factors): what its evaluate() learned from these inputs and put
        here, for a picture that fits nothing again."""
        return {}


def made(part: Part | Callable[[], Part]) -> Part:
    return part() if callable(part) else part


def _rows(name: str, codes: Codes | None, targets: Reals | None) -> tuple[Codes, Reals] | None:
    if codes is None and targets is None:
        return None
    if codes is None or targets is None:
        accepted = "both or neither are accepted"
        raise ValueError(f"inputs: {name}_codes or {name}_targets is None; {accepted}")
    return codes, targets


def _points_by_value(name: str, codes: Codes, latents: int) -> Codes:
    """The same points under each value, in `latents` latents, or a ValueError."""
    codes = numbers(name, codes, ("value", "point", "latent"))
    if codes.shape[2] != latents:
        raise BadArray(name, f"shape {codes.shape}", f"(values, points, {latents})")
    return codes


def check_groups(name: str, groups: Groups, latents: int) -> Groups:
    """Groups of at least two points in `latents` latents, or a ValueError."""
    codes = numbers(f"{name}.codes", groups.codes, ("group", "point", "latent"))
    factor = whole_numbers(f"{name}.factor", groups.factor, ("group",))
    if codes.shape[1] < 2 or codes.shape[2] != latents or len(codes) != len(factor):
        accepted = f"({len(factor)}, 2 or more, {latents})"
        raise BadArray(f"{name}.codes", f"shape {codes.shape}", accepted)
    if factor.min() < 0:
        raise BadArray(f"{name}.factor", str(factor.min()), "indices from 0")
    return Groups(codes, factor)
