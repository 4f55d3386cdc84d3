"""Read a folder of unlabelled pictures of any size, mode and format, recursively."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from data.base import pictures
from data.base.pictures import Pictures
from data.base.pixels import Pixels
from data.base.reading import printable
from infra.errors import WrongInput

FIELD = "data.folder"


def read(folder: Path) -> Pictures:
    """The pictures, sorted by their path in the folder: grey if all of them are, else coloured."""
    files = find(folder)
    are_grey = [_is_grey(folder, file) for file in files]  # opens each before any is drawn
    channels = 1 if all(are_grey) else 3

    def draw(file: Path) -> Pixels:
        with pictures.opened(file, FIELD, printable(file.relative_to(folder))) as image:
            return pictures.drawn(image, channels)

    return Pictures(len(files), channels, lambda: pictures.in_blocks(files, draw))


def find(folder: Path) -> list[Path]:
    """All files with the extension of a picture, except hidden ones and those in hidden folders."""
    _, extensions = pictures.formats()
    files = [file for file in _visible(folder) if file.suffix.lower() in extensions]
    if not files:
        accepted = "a folder with pictures: files named .png, .jpg, .webp or similar"
        raise WrongInput(FIELD, f"no picture in {printable(folder)}", accepted)
    return sorted(files, key=lambda file: file.relative_to(folder).as_posix())


def _visible(folder: Path) -> Iterator[Path]:
    """The files below, also behind links; a folder that is reached twice is read once."""
    seen: set[tuple[int, int]] = set()
    for below, folders, files in os.walk(folder, onerror=_refuse, followlinks=True):
        here = Path(below).stat()
        if (here.st_dev, here.st_ino) in seen:
            folders.clear()
            continue
        seen.add((here.st_dev, here.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(below) / name for name in files if not name.startswith("."))


def _refuse(error: OSError) -> None:
    found = f"{printable(Path(error.filename).name)}, which cannot be read ({error.strerror})"
    raise WrongInput(FIELD, found, "folders that can be read") from error


def _is_grey(folder: Path, file: Path) -> bool:
    with pictures.opened(file, FIELD, printable(file.relative_to(folder))) as image:
        return image.mode in pictures.GREY
