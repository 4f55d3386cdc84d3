"""Munch's The Scream as the study used it: one scan, shrunk once.

No checksum of the scan is published and copies differ in size, so only size and proportions are
checked. A hash of the pixels is part of the identity of every model that is trained on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from data.base.pixels import Pixels
from data.official.published import Published, RemoteFile
from infra.errors import WrongInput

NAME = "The_Scream.jpg"
BOX = (350, 274)  # columns and rows into which the study shrank the scan
SHAPE = (274, 215, 3)  # the shrunk scan; a wider one loses its left and right borders
PROPORTIONS = (215 / 274, 0.85)  # width / height of scans without and with a border


def _read(files: Mapping[str, Path]) -> Iterator[Pixels]:
    from PIL import Image, UnidentifiedImageError

    path = files[NAME]
    accepted = f"a scan of The Scream of at least {SHAPE[1]}x{SHAPE[0]} pixels, upright and whole"
    try:
        with Image.open(path) as scan:
            width, height = scan.size
            fits = PROPORTIONS[0] - 0.005 <= width / height <= PROPORTIONS[1]
            if not fits or width < SHAPE[1] or height < SHAPE[0]:
                raise WrongInput(str(path), f"{width}x{height} pixels", accepted)
            scan.thumbnail(BOX, Image.Resampling.BICUBIC)
            pixels = np.asarray(scan.convert("RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise WrongInput(str(path), f"an unreadable picture ({error})", accepted) from None
    border = (pixels.shape[1] - SHAPE[1]) // 2
    yield pixels[: SHAPE[0], border : border + SHAPE[1]]


THE_SCREAM = Published(
    files=(
        RemoteFile(
            NAME, (f"https://upload.wikimedia.org/wikipedia/commons/f/f4/{NAME}",), checksum=""
        ),
    ),
    ready="the-scream-1.pixels",
    shape=SHAPE,
    read=_read,
    has_look_alike=True,
)
