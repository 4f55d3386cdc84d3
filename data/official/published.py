"""Data sets whose pictures come from files that their authors publish.

Such a file is downloaded, or taken where the user already has it; its checksum is compared, then
its pictures are written once into the form that the processes of a machine map (data.base.pixels).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from data.base import pixels
from data.base.cache import locked, writing_to
from data.base.pixels import Pixels
from data.official.download import RemoteFile, Tell, download, has_checksum
from data.official.unpack import reading
from infra.errors import WrongInput

__all__ = ["OtherForm", "Published", "RemoteFile", "Tell", "files_named"]

Blocks = Iterator[Pixels]


@dataclass(frozen=True)
class OtherForm:
    """A form without a published checksum in which people have a data set.

    `find` knows it by its name; `read` yields the same blocks as the published files do and
    judges at the end whether the content can be believed.
    """

    meaning: str  # for the message that says what is accepted
    find: Callable[[Path], Path | None]
    read: Callable[[Path], Blocks]


@dataclass(frozen=True)
class Published:
    """Where the files of a data set are, and how they become the prepared file `ready`."""

    files: tuple[RemoteFile, ...]
    ready: str
    shape: tuple[int, ...]
    read: Callable[[Mapping[str, Path]], Blocks]  # from verified files, by name; in grid order
    other_forms: tuple[OtherForm, ...] = ()
    remark: Callable[[Pixels], str] | None = None  # what the user should know of the pictures
    has_look_alike: bool = False

    def is_ready(self, cache: Path) -> bool:
        """Whether the pictures are there; a file above a gibibyte is judged by its size."""
        return pixels.seems_whole(cache / self.ready, self.shape)

    def check(self, cache: Path) -> bool:
        """Whether the pictures are there and all of them are as they were written."""
        return self.is_ready(cache) and pixels.is_whole(cache / self.ready)

    def pixels(self, cache: Path, name: str) -> Pixels:
        """The pictures of the data set `name`, which have been fetched before."""
        if not self.is_ready(cache):
            accepted = f"tolstoy data fetch {name}"
            if self.has_look_alike:
                accepted += (
                    ", or sources that include look-alike"
                    " (--set 'sources=[redrawn, official, look-alike]')"
                )
            raise WrongInput(f"data {name}", f"no official file in {cache}", accepted)
        return pixels.mapped(cache / self.ready, self.shape)

    def fetch(self, cache: Path, tell: Tell | None = None) -> Path:
        """The prepared file, made from downloads where it is missing or damaged."""
        downloads = cache / "downloads"

        def verified() -> Callable[[], Blocks]:
            files = {file.name: download(file, downloads, tell or _silent) for file in self.files}
            return lambda: self.read(files)

        try:
            target = self._made(cache, verified, tell or _silent)
        except WrongInput:
            for file in self.files:
                if not file.checksum:  # refused by its reader, perhaps, and no better next time
                    (downloads / file.name).unlink(missing_ok=True)
            raise
        for file in self.files:
            (downloads / file.name).unlink(missing_ok=True)
            (downloads / f"{file.name}.partial").unlink(missing_ok=True)
        return target

    def take(self, path: Path, cache: Path, tell: Tell | None = None) -> Path:
        """The prepared file, made from what the user has at `path`: a file, or a folder of any
        depth. Nothing there is changed or copied."""
        return self._made(cache, lambda: self._found(path, tell or _silent), tell or _silent)

    def _made(self, cache: Path, source: Callable[[], Callable[[], Blocks]], tell: Tell) -> Path:
        target = cache / self.ready
        if not self.check(cache):
            with writing_to(cache):
                (cache / "downloads").mkdir(parents=True, exist_ok=True)
                with locked(cache / "downloads" / f"{self.ready}.lock"):
                    if not self.check(cache):  # another process may have made it meanwhile
                        blocks = source()
                        target.unlink(missing_ok=True)
                        tell("converting", 0.0)
                        pixels.prepared(
                            target, self.shape, blocks, lambda done: tell("converting", done)
                        )
        return target

    def _found(self, path: Path, tell: Tell) -> Callable[[], Blocks]:
        """How to read what is at `path`: published names first, as they have checksums."""
        named = {file: files_named(path, file.name) for file in self.files}
        if not all(named.values()):
            for form in self.other_forms:
                if (found := form.find(path)) is not None:
                    return lambda: form.read(found)
            if len(self.files) == 1 and path.is_file():
                named = {self.files[0]: [path]}  # its name does not matter, its checksum does
        missing = [file.name for file, copies in named.items() if not copies]
        if missing:
            meanings = [form.meaning for form in self.other_forms]
            raise WrongInput(
                str(path),
                f"no {missing[0]}" if path.exists() else "nothing there",
                "; or ".join([", ".join(file.name for file in self.files), *meanings]),
            )
        files = {file.name: _verified(file, copies, tell) for file, copies in named.items()}
        return lambda: self.read(files)


def files_named(path: Path, name: str) -> list[Path]:
    """`path` itself if it is a file of this name, or the ones below a folder.

    Links to folders are not followed, so that a link to a parent is not an endless tree.
    """
    if path.is_file():
        return [path] if path.name == name else []
    folders = (Path(folder) for folder, _, files in os.walk(path) if name in files)
    return sorted(folder / name for folder in folders if (folder / name).is_file())


def _verified(file: RemoteFile, copies: list[Path], tell: Tell) -> Path:
    """The first copy with the right checksum: an old, broken download may lie about as well."""
    for copy in copies:
        with reading(copy):
            if has_checksum(copy, file.checksum, tell):
                return copy
    raise WrongInput(str(copies[0]), "a wrong checksum", f"{file.name} with {file.checksum}")


def _silent(what: str, fraction: float) -> None:
    pass
