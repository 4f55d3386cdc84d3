"""Shrinks larger pictures to 64 by 64, with Lanczos, as in the published studies."""

import numpy as np

from data.base.pixels import Pixels


def shrunk(pictures: Pixels) -> Pixels:
    """(n, rows, columns) or (n, rows, columns, 3) as (n, channels, 64, 64)."""
    from PIL import Image  # not needed to list the data sets

    from data.base.pictures import resized

    return np.stack([resized(Image.fromarray(picture)) for picture in pictures])
