"""The pictures of a study's data sets, once their sources are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np

import data
from data.base.cache import folder
from data.base.protocol import (
    DataSet,
    Description,
    Factors,
    Finite,
    Fresh,
    HasSplits,
    HasTargets,
    Images,
    Places,
    Targets,
)
from tasks.streams import stream
from tasks.study.data_choice import DataChoice
from tasks.study.sources import own_table, with_source
from tasks.study.spec import pictures_fitted

BLOCK = 512


def describe(choice: DataChoice) -> Description:
    """Channels and factors of a data set; only the user's own data are loaded for it."""
    if choice.own:
        return load_own(choice)
    return data.describe(choice.name, choice.source, choice.first_pictures)


@lru_cache(maxsize=4)
def load(choice: DataChoice) -> DataSet:
    """The pictures: a memory map, opened once per process. Raises if they have changed since the
    study chose their source, or are not on this machine."""
    choice = with_source(choice, () if choice.own else data.sources(choice.name))
    if choice.own or not choice.source:
        return cast(DataSet, load_own(choice))
    return data.load(choice.name, choice.source, folder(), pictures=choice.first_pictures)


def prepare(choice: DataChoice) -> None:
    """Write a data set's cache, and compile what shows its pictures, before every worker does.

    A picture that cannot be shown fails again where it is needed, and is reported there.
    """
    data_set = load(choice)
    with suppress(Exception):
        drawn_pictures(data_set, 1, np.random.default_rng(0))


load_own = lru_cache(maxsize=4)(own_table)


@dataclass(frozen=True, eq=False)
class PicturesInParts:
    """Pictures that are drawn when they are read: no more are in memory than are read at once."""

    count: int
    draw: Callable[[slice], Images]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, rows: slice) -> Images:
        return self.draw(rows)


def in_parts(
    data_set: DataSet, factors: Factors, draws: np.random.Generator
) -> PicturesInParts | Images:
    """What `data_set.images` gives, in parts where the data set can do that."""
    if isinstance(data_set, Finite):
        return of_places(data_set, data_set.places(factors, draws))
    if isinstance(data_set, Fresh):
        return PicturesInParts(len(factors), data_set.in_parts(factors, draws))
    return data_set.images(factors, draws)


def of_places(data_set: Finite, places: Places) -> PicturesInParts:
    return PicturesInParts(len(places), lambda rows: data_set.show(places[rows]))


def drawn_pictures(data_set: DataSet, count: int, draws: np.random.Generator) -> Images:
    """Random pictures of those that models are trained on."""
    if isinstance(data_set, HasSplits):
        return data_set.show(_drawn_rows(data_set, count, draws))
    return data_set.images(data_set.sample(count, draws), draws)


def all_pictures(data_set: DataSet, model_id: str) -> Iterator[Images]:
    """All pictures that models are trained on, in blocks; of a data set with very many, or whose
    pictures are new each time, fewer random ones, the same at each call."""
    count = pictures_fitted(data_set.pictures or 0)
    if isinstance(data_set, Finite) and data_set.pictures == count:
        rows = np.arange(count)
        if isinstance(data_set, HasSplits):
            rows = data_set.training_rows
        for first in range(0, len(rows), BLOCK):
            yield data_set.show(rows[first : first + BLOCK])
        return
    for block in range(count // BLOCK):
        yield drawn_pictures(data_set, BLOCK, stream(model_id, "all pictures", block))


@dataclass(frozen=True)
class Probe:
    """The ordered pictures on which all models of a data set are compared, and their factors as
    real numbers, where some are continuous."""

    images: PicturesInParts | Images
    targets: Targets | None


@lru_cache(maxsize=1)
def probe_of(choice: DataChoice, count: int) -> Probe:
    data_set = load(choice)
    draws = stream("probe", choice.name)
    if isinstance(data_set, HasTargets) and data_set.continuous:
        if isinstance(data_set, HasSplits):
            places = _drawn_rows(data_set, count, draws)
        else:
            places = data_set.places(data_set.sample(count, draws), draws)
        return Probe(of_places(data_set, places), data_set.targets(places))
    if isinstance(data_set, HasSplits):
        return Probe(of_places(data_set, _drawn_rows(data_set, count, draws)), None)
    return Probe(in_parts(data_set, data_set.sample(count, draws), draws), None)


def _drawn_rows(data_set: HasSplits, count: int, draws: np.random.Generator) -> Places:
    return draws.choice(data_set.training_rows, size=count)
