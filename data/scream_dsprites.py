"""Scream-dSprites (Locatello et al., 2019): dSprites that invert a patch of Munch's painting.

Every image is a random 64x64 patch of The Scream, averaged with a random colour; where the sprite
is, the patch is inverted. The source `redrawn` needs a scan of the painting; `look-alike` uses a
similar texture instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data import dsprites
from data.base.pixels import SIDE, Progress
from data.base.protocol import DataSet, Factors, Fresh, Grid, Images, Source
from data.official.painting import THE_SCREAM
from data.official.published import Published

DESCRIPTION = replace(dsprites.DESCRIPTION, name="scream_dsprites", channels=3, pictures=None)
SOURCES: tuple[Source, ...] = ("redrawn", "look-alike")
PUBLISHED: dict[Source, Published] = {"redrawn": THE_SCREAM}
FILES: dict[Source, str] = {"redrawn": THE_SCREAM.ready}


@dataclass(frozen=True, eq=False)
class ScreamDSprites(Fresh, Grid):
    """Sprites on patches of `picture` (3, rows, columns), drawn when images are requested."""

    sprites: DataSet
    picture: NDArray[np.float32]

    def images(self, factors: Factors, stream: np.random.Generator) -> Images:
        """The same points look different at every call: patches come from the stream.

        As in the study's code the last row and the last column of the painting are never used.
        """
        return self.in_parts(factors, stream)(slice(None))

    def in_parts(self, factors: Factors, stream: np.random.Generator) -> Callable[[slice], Images]:
        from data.base.loops import invert_patches  # compiling is slow, and only training needs it

        count, (_, height, width) = len(factors), self.picture.shape
        rows = stream.integers(height - SIDE, size=count)
        columns = stream.integers(width - SIDE, size=count)
        colours = stream.random((count, 3), dtype=np.float32)

        def draw(part: slice) -> Images:
            sprites = self.sprites.images(factors[part], stream)
            images = np.empty((len(sprites), 3, SIDE, SIDE), np.float32)
            places = rows[part], columns[part]
            invert_patches(self.picture, *places, colours[part], sprites[:, 0], images)
            return images

        return draw


def content(cache: Path, source: Source) -> str:
    """A hash of the scan, which the study stores: scans of the painting differ a little."""
    if source != "redrawn":
        return ""
    pixels = THE_SCREAM.pixels(cache, DESCRIPTION.name)
    return hashlib.sha256(pixels.tobytes()).hexdigest()[:16]


def load(cache: Path, source: Source = "redrawn", progress: Progress | None = None) -> DataSet:
    """The data set, with dSprites drawn into `cache` if it is missing."""
    from data.look_alikes.scream import texture

    pixels = THE_SCREAM.pixels(cache, DESCRIPTION.name) if source == "redrawn" else texture()
    planes = np.ascontiguousarray(pixels.transpose(2, 0, 1), dtype=np.float32) / np.float32(255)
    return ScreamDSprites(
        **vars(replace(DESCRIPTION, source=source, content=content(cache, source))),
        sprites=dsprites.load(cache, progress=progress),
        picture=planes,
    )
