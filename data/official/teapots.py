"""The authors' file of teapots (Eastwood & Williams, 2018): what it must hold, and reading it.

No checksum is published. Others found md5 9b58d66a382d01f4477e33520f1fa503 of a file with 32-bit
integers; files that were saved again in 8 bits exist as well. So shapes, types and ranges are
checked, and a hash of the content is part of the identity of every model that is trained on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from data.base import npy, with_factors
from data.base.pixels import SIDE, Pixels
from data.base.protocol import Targets
from data.official.unpack import ROWS, channels_first, reading
from infra.errors import WrongInput

IMAGES, FACTORS = "images", "gts"
TOLERANCE = 1e-5  # of values that were stored in 32 bits
LARGEST = 255


def read(path: Path, count: int, largest: Sequence[float]) -> Iterator[Pixels]:
    """Pictures and factors as a prepared file holds them; factors go from 0 to `largest`. They are
    small and checked before any picture is read."""
    with reading(path):
        names = npy.arrays(path)
        if missing := [name for name in (IMAGES, FACTORS) if name not in names]:
            found = f"no {' and no '.join(missing)} (it holds {', '.join(names) or 'no array'})"
            accepted = f"teapots.npz, unpacked, with the keys {IMAGES} and {FACTORS}"
            raise WrongInput(str(path), found, accepted)
        factors = _factors(path, count, largest)
        yield from with_factors.blocks(channels_first(_pictures(path, count)), factors)


def _factors(path: Path, count: int, largest: Sequence[float]) -> Targets:
    array, shape = npy.stored(path, FACTORS), (count, len(largest))
    if array.shape != shape or array.dtype.kind != "f":
        found = f"{FACTORS} {array.dtype} {array.shape}"
        raise WrongInput(str(path), found, f"real numbers {shape}")
    values = array.whole().astype(np.float64)
    for place, (column, most) in enumerate(zip(values.T, largest, strict=True)):
        inside = (column >= -TOLERANCE) & (column <= most + TOLERANCE)  # false for no number
        if not inside.all():
            row = int(np.argmin(inside))
            found = f"{column[row]} in column {place} of {FACTORS}, row {row}"
            raise WrongInput(str(path), found, f"0 to {most:.6g}")
    return values


def _pictures(path: Path, count: int) -> Iterator[Pixels]:
    array, shape = npy.stored(path, IMAGES), (count, SIDE, SIDE, 3)
    if array.shape != shape or array.dtype.kind not in "iu":
        found = f"{IMAGES} {array.dtype} {array.shape}"
        raise WrongInput(str(path), found, f"whole numbers {shape}")
    brightest = 0
    for block in array.blocks(ROWS):
        low, high = int(block.min()), int(block.max())
        if low < 0 or high > LARGEST:
            found = f"{IMAGES} with the value {low if low < 0 else high}"
            raise WrongInput(str(path), found, f"0 to {LARGEST}")
        brightest = max(brightest, high)
        yield block.astype(np.uint8)
    if brightest <= 1:
        raise WrongInput(str(path), f"{IMAGES} of at most {brightest}", f"numbers up to {LARGEST}")
