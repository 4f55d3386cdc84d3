"""Read a folder of unlabelled pictures of any size, mode and format, recursively."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from data.base import pictures
from data.base.pictures import Kind, Pictures
from data.base.pixels import Pixels, Progress
from data.base.reading import CANNOT_BE_READ, printable
from infra.errors import WrongInput

FIELD = "data.folder"


def read(folder: Path, skip_broken: bool = False, progress: Progress | None = None) -> Pictures:
    """The pictures, sorted by their path in the folder: grey if all of them are, else coloured.

    All that are broken are named in one error, when the pictures are drawn. With `skip_broken`
    they are left out; to find them, each picture is read here as well.
    """
    files, ignored = _listed(folder)
    results: list[Kind | WrongInput] = []
    for some in pictures.attempts(files, lambda file: _kind(folder, file, whole=skip_broken)):
        results += some
        if progress:
            progress(len(results) / len(files))
    kinds = {
        file: result
        for file, result in zip(files, results, strict=True)
        if not isinstance(result, WrongInput)
    }
    refused = [result for result in results if isinstance(result, WrongInput)]
    if skip_broken and not kinds:
        found = f"{len(files)} pictures in {printable(folder)}, of which none can be read"
        raise WrongInput(FIELD, found, "a folder with pictures")
    channels = 1 if all(kind.is_grey for kind in kinds.values()) else 3

    def draw(file: Path) -> Pixels:
        with pictures.opened(file, FIELD, _name(folder, file)) as image:
            return pictures.drawn(image, channels)

    def blocks() -> Iterator[Pixels]:
        try:
            yield from pictures.in_blocks(kinds, draw, () if skip_broken else refused)
        except WrongInput as error:
            accepted = f"{error.accepted}, or skip_broken: true, which leaves others out"
            raise WrongInput(FIELD, error.found, accepted) from error

    skipped = len(refused) if skip_broken else 0
    transparent = sum(kind.is_transparent for kind in kinds.values())
    return Pictures(len(kinds), channels, blocks, ignored, transparent, skipped)


def find(folder: Path) -> list[Path]:
    """All files with the extension of a picture, except hidden ones and those in hidden folders.

    They may be links to nothing, or pipes."""
    return _listed(folder)[0]


def _listed(folder: Path) -> tuple[list[Path], dict[str, int]]:
    """These files, and how many others there are of each ending, the most frequent first."""
    _, extensions = pictures.formats()
    every = list(_files(folder))
    files = [
        file
        for file in every
        if file.suffix.lower() in extensions and not file.name.startswith(".")
    ]
    if not files:
        accepted = "a folder with pictures: files named .png, .jpg, .webp or similar"
        raise WrongInput(FIELD, f"no picture in {printable(folder)}", accepted)
    in_order = sorted(files, key=lambda file: file.relative_to(folder).as_posix())
    others = Counter(_ending(file) for file in set(every).difference(files))
    return in_order, dict(sorted(others.items(), key=lambda item: (-item[1], item[0])))


def _ending(file: Path) -> str:
    return "hidden" if file.name.startswith(".") else printable(file.suffix.lower()) or "no ending"


def _files(folder: Path) -> Iterator[Path]:
    """The files below, also behind links, but not in hidden folders; a folder that is reached twice
    is read once."""
    seen: set[tuple[int, int]] = set()
    for below, folders, files in os.walk(folder, onerror=_refuse, followlinks=True):
        here = Path(below).stat()
        if (here.st_dev, here.st_ino) in seen:
            folders.clear()
            continue
        seen.add((here.st_dev, here.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(below) / name for name in files)


def _refuse(error: OSError) -> None:
    found = f"{printable(Path(error.filename).name)}, which cannot be read ({error.strerror})"
    raise WrongInput(FIELD, found, "folders that can be read") from error


def _name(folder: Path, file: Path) -> str:
    return printable(file.relative_to(folder))


def _kind(folder: Path, file: Path, whole: bool) -> Kind:
    """What the picture is; the `whole` of it is tried if that is asked for."""
    name = _name(folder, file)
    if not file.is_file():  # opening a pipe would wait for somebody who writes to it
        reason = "a pipe, a socket or a device"
        if not file.exists():
            link = f": a link to {printable(file.readlink())}" if file.is_symlink() else ""
            reason = f"No such file or directory{link}"
        raise WrongInput(FIELD, f"{name}{CANNOT_BE_READ} ({reason})", "files with pictures")
    with pictures.opened(file, FIELD, name) as image:
        kind = pictures.kind_of(image)
        if whole:
            pictures.drawn(image, 1 if kind.is_grey else 3)
        return kind
