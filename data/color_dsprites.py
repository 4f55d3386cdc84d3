"""Color-dSprites (Locatello et al., 2019): dSprites in a random colour, new for every image.

Each channel of the sprite is multiplied by a U(0.5, 1) value; the background stays black.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from data import dsprites
from data.base.pixels import Progress
from data.base.protocol import DataSet, Factors, Fresh, Grid, Images, Source

DESCRIPTION = replace(dsprites.DESCRIPTION, name="color_dsprites", channels=3, pictures=None)
SOURCES: tuple[Source, ...] = ("redrawn",)
FILES: dict[Source, str] = {"redrawn": dsprites.FILES["redrawn"]}


@dataclass(frozen=True, eq=False)
class ColorDSprites(Fresh, Grid):
    """Sprites that are coloured when images are requested."""

    sprites: DataSet

    def images(self, factors: Factors, stream: np.random.Generator) -> Images:
        """The same points look different at every call: colours come from the stream."""
        return self.in_parts(factors, stream)(slice(None))

    def in_parts(self, factors: Factors, stream: np.random.Generator) -> Callable[[slice], Images]:
        colours = 0.5 + 0.5 * stream.random((len(factors), 3, 1, 1), dtype=np.float32)
        return lambda rows: self.sprites.images(factors[rows], stream) * colours[rows]


def load(cache: Path, source: Source = "redrawn", progress: Progress | None = None) -> DataSet:
    """The data set, with dSprites drawn into `cache` if it is missing."""
    return ColorDSprites(**vars(DESCRIPTION), sprites=dsprites.load(cache, progress=progress))
