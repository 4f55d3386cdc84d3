"""A data set whose pictures all stand in one array, in the order of its grid."""

from dataclasses import dataclass

import numpy as np

from data.pixels import Pixels, as_floats
from data.protocol import Factors, Grid, Images


@dataclass(frozen=True, eq=False)
class StoredGrid(Grid):
    """`pixels` is (points of the grid, channels, 64, 64)."""

    pixels: Pixels

    def images(self, factors: Factors, stream: np.random.Generator) -> Images:
        """The pictures at these points of the grid; nothing is left to the stream."""
        return as_floats(self.pixels, self.places(factors))
