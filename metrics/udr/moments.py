"""Second moments of many models' latents: one matrix product instead of passes over points.

A similarity (metrics/udr/NAME.py) gets the moments of many models, the regressors, with the latents
of many, the targets. Each is a sum over a fold of the points, divided by the number of all points,
so that a fold's moments can be left out or taken alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib import import_module
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics import SIMILARITIES
from metrics.base.arrays import BadArray, Codes, numbers

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class OfModel:
    """Of one model's informative latents with those of the targets, as sums over each fold."""

    rows: slice  # the model's part of all similarities
    gram: Matrix  # (folds, regressors, regressors)
    products: NDArray[Any]  # (folds, regressors, targets)
    means: Matrix  # (folds, regressors)


@dataclass(frozen=True)
class Moments:
    """Of the informative latents of several models, one model's after the other's, with those of
    the targets, as sums over each fold."""

    grams: Matrix  # (models, folds, latents, latents), of all latents
    informative: Flags  # (models, latents)
    products: NDArray[Any]  # (folds, regressors, targets), of float32 or float64
    means: Matrix  # (folds, regressors)
    first_row: NDArray[np.int64]  # (models + 1,): where each one's regressors begin, and the end
    target_means: Matrix  # (folds, targets)
    target_squares: Matrix  # (folds, targets)
    first_column: NDArray[np.int64]  # (target models + 1,): the same of targets
    shares: Matrix  # (folds,): of the points

    def of_models(self, models: Flags) -> Iterator[OfModel]:
        """Of these models, those that have informative latents."""
        for model in np.flatnonzero(models & self.informative.any(axis=1)).tolist():
            rows, chosen = slice(*self.first_row[model : model + 2]), self.informative[model]
            gram = self.grams[model][:, chosen][:, :, chosen]
            yield OfModel(rows, gram, self.products[:, rows], self.means[:, rows])


class Similarity(Protocol):
    """What metrics/udr/NAME.py holds if it compares by moments."""

    FOLDS: int  # consecutive parts of the points, of equal size up to one point
    PRODUCT: type[np.floating[Any]]  # what the product of float32 latents is summed in

    @staticmethod
    def standard(codes: Codes, standard: Codes) -> None:
        """From a model's codes (points, latents) fill `standard` (latents, points), with mean 0 and
        variance 1; 0 where constant."""

    @staticmethod
    def similarities(moments: Moments) -> Matrix:
        """(regressors, targets) of all models, none negative."""


class OwnPairs(Protocol):
    """What metrics/udr/NAME.py holds if it compares in a way of its own."""

    MIRRORED: bool  # the score of (i, j) is that of (j, i), so that it is computed once

    @staticmethod
    def prepare(codes: ArrayLike) -> "Prepared":
        """Codes (models, points, latents), ready to be compared."""

    @staticmethod
    def compare(
        regressors: Any, targets: Any, informative_regressors: Flags, informative_targets: Flags
    ) -> Matrix:
        """The scores (models i, models j) of what prepare() gave."""

    @staticmethod
    def similarities(codes_i: ArrayLike, codes_j: ArrayLike) -> Matrix:
        """(latents of i, latents of j) of codes (points, latents), none negative."""


def kind(similarity: str) -> Similarity:
    return _module(similarity)  # type: ignore[no-any-return]


def own_pairs(similarity: str) -> OwnPairs | None:
    """None for a similarity that compares by moments."""
    module = _module(similarity)
    return module if hasattr(module, "compare") else None


def _module(similarity: str) -> Any:
    if similarity not in SIMILARITIES:
        raise BadArray("similarity", repr(similarity), ", ".join(SIMILARITIES))
    return import_module(f"metrics.udr.{similarity}")


@dataclass(frozen=True)
class Prepared(ABC):
    """Models of the same points, ready to be compared; each field but the first has a row per
    model."""

    similarity: str

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """Models, latents and points."""

    def __getitem__(self, models: slice | list[int]) -> Self:
        arrays = (getattr(self, field.name)[models] for field in fields(self)[1:])
        return type(self)(self.similarity, *arrays)


@dataclass(frozen=True)
class WithMoments(Prepared):
    """Models' standardised (or ranked) latents."""

    latents: NDArray[np.float32]  # (models, latents, points): contiguous over what is summed
    grams: Matrix  # (models, folds, latents, latents), as in Moments
    means: Matrix  # (models, folds, latents)

    @property
    def shape(self) -> tuple[int, int, int]:
        models, latents, points = self.latents.shape
        return models, latents, points

    def folds(self) -> list[slice]:
        return consecutive(self.latents.shape[2], kind(self.similarity).FOLDS)


def consecutive(points: int, folds: int) -> list[slice]:
    """Parts of equal size up to one point, larger ones first, as scikit-learn's KFold."""
    ends = np.cumsum([points // folds + (fold < points % folds) for fold in range(folds)])
    return [slice(int(start), int(end)) for start, end in pairwise([0, *ends])]


def prepare(codes: ArrayLike, similarity: str) -> WithMoments:
    """Codes (models, points, latents) of any scale, as `similarity` compares them.

    A constant latent becomes 0, exactly.
    """
    from metrics.compiled.standardise import second_moments  # numba, not for light commands

    how = kind(similarity)
    codes = numbers("codes", codes, ("model", "row", "latent"))
    models, points, latents = codes.shape
    if points < how.FOLDS:
        raise BadArray("codes", f"{points} rows", f"at least {how.FOLDS}, one for each fold")
    ends = np.array([0, *(part.stop for part in consecutive(points, how.FOLDS))])
    standard = np.empty((models, latents, points), dtype=np.float32)
    grams = np.empty((models, how.FOLDS, latents, latents))
    sums = np.empty((models, how.FOLDS, latents))
    for model in range(models):  # one at a time, in the processor's cache
        how.standard(codes[model], standard[model])
        second_moments(standard[model], ends, grams[model], sums[model])
    return WithMoments(similarity, standard, grams / points, sums / points)


def standardise(codes: Codes, standard: Codes) -> None:
    """From a model's codes (points, latents) of whatever scale fill `standard` (latents, points),
    with mean 0 and variance 1 over the points; 0 where all points are equal."""
    from metrics.compiled.standardise import standardise

    # of one layout in memory, as each would be compiled by itself
    standardise(np.require(codes, requirements=["C", "WRITEABLE"]), standard)
