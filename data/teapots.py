"""Teapots (Eastwood & Williams, 2018): pictures of one teapot, with five factors that are real.

Azimuth, elevation and the shares of red, green and blue are drawn independently; there is no grid.
Without the authors' file (https://github.com/cianeastwood/qedr) a similar teapot is drawn
(data/look_alikes), which takes three minutes on one core, or seconds for its first pictures alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.base import pixels, with_factors
from data.base.continuous import BINS, equal_bins
from data.base.pixels import Pixels, Progress
from data.base.protocol import Description, HasSplits, Source, Splits, Targets
from data.base.table import Table
from data.official.published import Blocks, Published, RemoteFile

AZIMUTH, ELEVATION, RED, GREEN, BLUE = range(5)
LARGEST = (2 * math.pi, math.pi / 2, 1.0, 1.0, 1.0)  # value of each factor; the smallest is 0
CHANNELS = 3
DESCRIPTION = Description(
    name="teapots",
    source="official",
    channels=CHANNELS,
    factor_names=("azimuth", "elevation", "red", "green", "blue"),
    factor_sizes=(BINS,) * len(LARGEST),
    pictures=200_000,
    continuous=tuple(range(len(LARGEST))),
    periodic=("azimuth",),
    has_splits=True,
)
SOURCES: tuple[Source, ...] = ("official", "look-alike")
LOOK_ALIKE = "teapots-look-alike-1.pixels"  # raise both numbers when the pictures change
FIRST_LOOK_ALIKES = "teapots-look-alike-first-*-1.pixels"  # of a study that takes only so many
FEWEST_PICTURES = 1000  # then validation, test and gap have about a hundred each
FILE = RemoteFile(
    "teapots.npz",
    ("https://www.dropbox.com/s/woeyomxuylqu7tx/edinburgh_teapots.zip",),
    checksum="",
)

# Parts of the pictures in stored order (section 4.1); the rest is for tests.
TRAINING, VALIDATION = 0.8, 0.1
REDDER = 0.15  # by so much red exceeds other colours in the gap


@dataclass(frozen=True, eq=False)
class Teapots(Table, HasSplits):
    def splits(self) -> Splits:
        return splits(self.real)


def gap(values: Targets) -> NDArray[np.bool_]:
    """Which rows are red teapots from above, by the authors' released code (zero_shot.py).

    Appendix B.2 asks only that red exceeds green; of uniform factors that is 18.1%, this 10.2%, and
    of the paper's pictures 10.6%.
    """
    red, others = values[:, RED], values[:, [GREEN, BLUE]]
    is_red: NDArray[np.bool_] = red > others.max(axis=1) + REDDER
    return np.asarray(is_red & (values[:, ELEVATION] > math.pi / 4), np.bool_)


def splits(values: Targets) -> Splits:
    """The rows of training, validation and test, without the gap, and those of the gap."""
    rows, is_gap = np.arange(len(values)), gap(values)
    ends = np.rint(np.array([TRAINING, TRAINING + VALIDATION]) * len(values)).astype(int)
    train, validation, test = (part[~is_gap[part]] for part in np.split(rows, ends))
    return Splits(train, validation, test, rows[is_gap])


def _shape(pictures: int) -> tuple[int, ...]:
    return with_factors.shape(pictures, CHANNELS, len(LARGEST))


def _count() -> int:
    return DESCRIPTION.pictures or 0


def _read(files: Mapping[str, Path]) -> Blocks:
    from data.official import teapots as official

    return official.read(files[FILE.name], _count(), LARGEST)


def _draw(pictures: int) -> Iterator[Pixels]:
    from data.look_alikes import teapots as look_alike

    values = look_alike.factors(pictures, LARGEST)
    return with_factors.blocks(look_alike.draw(values), values)


def _remark(stored: Pixels) -> str:
    """How many rows each part has, which says whether it is the paper's file."""
    _, values = with_factors.split(stored, _count(), len(LARGEST))
    parts = splits(values)
    counts = [len(rows) for rows in (parts.train, parts.validation, parts.test, parts.zero_shot)]
    return (
        "training, validation, test and zero-shot have {:,}, {:,}, {:,} and {:,} pictures"
        " (the paper: 142,927, 17,854, 17,854 and 21,238); no checksum is published".format(*counts)
    )


PUBLISHED: dict[Source, Published] = {
    "official": Published(
        files=(FILE,),
        ready="teapots-official-1.pixels",
        shape=_shape(_count()),
        read=_read,
        remark=_remark,
        has_look_alike=True,
        by_hand=True,
    )
}
FILES: dict[Source, str] = {"official": PUBLISHED["official"].ready, "look-alike": LOOK_ALIKE}
FIRST_FILES: dict[Source, str] = {"look-alike": FIRST_LOOK_ALIKES}


def content(cache: Path, source: Source) -> str:
    """A hash of the official pictures and factors, as no checksum says which file it was."""
    if source != "official":
        return ""
    PUBLISHED["official"].pixels(cache, DESCRIPTION.name)
    return pixels.checksum(cache / PUBLISHED["official"].ready)


def load(
    cache: Path,
    source: Source = "official",
    progress: Progress | None = None,
    pictures: int | None = None,
) -> Teapots:
    """The official pictures, fetched before, or similar teapots, drawn into `cache` once: all of
    them, or so many first ones."""
    stored, count = _stored(cache, source, progress, pictures)
    shown, values = with_factors.split(stored, count, len(LARGEST))
    shown, values = shown[:pictures], values[:pictures]
    described = replace(
        DESCRIPTION, source=source, content=content(cache, source), pictures=len(shown)
    )
    bins = np.stack([equal_bins(column) for column in values.T], axis=1)
    return Teapots(**vars(described), pixels=shown, factors=bins, real=values)


def _stored(
    cache: Path, source: Source, progress: Progress | None, pictures: int | None
) -> tuple[Pixels, int]:
    """A prepared file that has so many first pictures, and how many pictures it has."""
    if source != "look-alike":
        return PUBLISHED["official"].pixels(cache, DESCRIPTION.name), _count()
    return with_factors.drawn(
        cache / LOOK_ALIKE,
        cache / FIRST_LOOK_ALIKES,
        _draw,
        shapes=_shape,
        count=_count(),
        pictures=pictures,
        progress=progress,
    )
