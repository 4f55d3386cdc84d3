"""A data set with all pictures in one array, in the order of its grid."""

from dataclasses import dataclass

import numpy as np

from data.base.pixels import Pixels, as_floats
from data.base.protocol import Factors, Finite, Grid, Images, Places


@dataclass(frozen=True, eq=False)
class StoredGrid(Finite, Grid):
    """`pixels` is (points of the grid, channels, 64, 64)."""

    pixels: Pixels

    def places(self, factors: Factors, stream: np.random.Generator) -> Places:
        """The factors determine the picture: the stream is not used."""
        return self.order(factors)

    def show(self, places: Places) -> Images:
        return as_floats(self.pixels, places)
