"""Scene: pictures of one sprite alone, as in the world of the clustering task (tasks/clustering).

A square, triangle or circle of one size on black; its place and colour are real numbers. Factors
are independent and uniform where the world draws them; there is no grid. With such pictures Duan et
al. 2020 (appendix A.8) compare the models whose codes an agent learns the task with. Drawing all of
them takes half a minute on one core.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from data.base import with_factors
from data.base.continuous import BINS, equal_bins
from data.base.pixels import Pixels, Progress
from data.base.protocol import Description, Source, Targets
from data.base.table import Table
from data.look_alikes.sprites import (
    FACTORS,
    HUES,
    PLACES,
    SATURATIONS,
    SHAPES,
    VALUES,
    Range,
    from_factors,
)

CHANNELS = 3
SHAPE = FACTORS.index("shape")
CONTINUOUS = tuple(place for place in range(len(FACTORS)) if place != SHAPE)
RANGES: tuple[Range, ...] = (PLACES, PLACES, (0, len(SHAPES)), HUES, SATURATIONS, VALUES)
DESCRIPTION = Description(
    name="scene",
    source="look-alike",
    channels=CHANNELS,
    factor_names=FACTORS,
    factor_sizes=tuple(len(SHAPES) if i == SHAPE else BINS for i in range(len(FACTORS))),
    pictures=200_000,
    continuous=CONTINUOUS,
    categorical=("shape",),
    periodic=("hue",),
)
SOURCES: tuple[Source, ...] = ("look-alike",)
LOOK_ALIKE = "scene-look-alike-1.pixels"  # raise both numbers when the pictures change
FIRST_LOOK_ALIKES = "scene-look-alike-first-*-1.pixels"  # of a study that takes only so many
FILES: dict[Source, str] = {"look-alike": LOOK_ALIKE}
FIRST_FILES: dict[Source, str] = {"look-alike": FIRST_LOOK_ALIKES}
FEWEST_PICTURES = 1000

STREAM = "factors of the pictures of one sprite"
BLOCK = 1000  # pictures drawn between two reports of progress


def factors(count: int) -> Targets:
    """Rows of FACTORS, of which the first are the same for any number of rows."""
    seed = int.from_bytes(hashlib.sha256(STREAM.encode()).digest(), "big")
    low, high = np.array(RANGES).T
    values: Targets = low + (high - low) * np.random.default_rng(seed).random((count, len(FACTORS)))
    values[:, SHAPE] = np.floor(values[:, SHAPE])
    return values


def load(
    cache: Path,
    source: Source = "look-alike",
    progress: Progress | None = None,
    pictures: int | None = None,
) -> Table:
    """The pictures, drawn into `cache` once: all of them, or so many first ones."""
    stored, count = with_factors.drawn(
        cache / LOOK_ALIKE,
        cache / FIRST_LOOK_ALIKES,
        _draw,
        shapes=partial(with_factors.shape, channels=CHANNELS, factors=len(FACTORS)),
        count=DESCRIPTION.pictures or 0,
        pictures=pictures,
        progress=progress,
    )
    shown, values = with_factors.split(stored, count, len(FACTORS))
    shown, values = shown[:pictures], values[:pictures]
    positions = values.astype(np.int64)  # of the shape; other columns get their bins
    for column in CONTINUOUS:
        positions[:, column] = equal_bins(values[:, column])
    described = replace(DESCRIPTION, source=source, pictures=len(shown))
    real = values[:, CONTINUOUS]
    return Table(**vars(described), pixels=shown, factors=positions, real=real)


def _draw(pictures: int) -> Iterator[Pixels]:
    values = factors(pictures)
    return with_factors.blocks(_pictures(values), values)


def _pictures(values: Targets) -> Iterator[Pixels]:
    from data.look_alikes.sprite_pictures import draw

    for first in range(0, len(values), BLOCK):
        yield draw(from_factors(values[first : first + BLOCK]))
