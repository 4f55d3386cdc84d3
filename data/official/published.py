"""Data sets whose pictures come from files that their authors publish.

Such a file is downloaded, or read from where the user has it. Its checksum is compared, then its
pictures are written once into the file that the processes of a machine map (data.base.pixels).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from data.base import pixels
from data.base.cache import locked, writing_to
from data.base.pixels import Pixels
from data.official.download import RemoteFile, StepProgress, download, has_checksum
from data.official.unpack import reading
from infra.errors import WrongInput

__all__ = ["OtherForm", "Published", "RemoteFile", "StepProgress", "files_named"]

Blocks = Iterator[Pixels]


def no_progress(what: str, fraction: float) -> None:
    """A StepProgress that shows nothing."""


@dataclass(frozen=True)
class OtherForm:
    """Another form in which users have a data set, without a published checksum.

    `find` looks for it by its name; `read` yields the same blocks as the published files do and
    checks the content.
    """

    meaning: str  # for the message that lists what is accepted
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
    remark: Callable[[Pixels], str] | None = None  # what the user should know about the pictures
    has_look_alike: bool = False
    by_hand: bool = False  # at its address the file is in an archive, which only people unpack

    def is_ready(self, cache: Path) -> bool:
        """Whether the pictures are there; of a file above a gibibyte only the size is checked."""
        return pixels.seems_whole(cache / self.ready, self.shape)

    def check(self, cache: Path) -> bool:
        """Whether the pictures are there and the checksum of all of them is right."""
        return self.is_ready(cache) and pixels.is_whole(cache / self.ready)

    def pixels(self, cache: Path, name: str) -> Pixels:
        """The pictures of the data set `name`, which must have been fetched before."""
        if not self.is_ready(cache):
            accepted = f"tolstoy data fetch {name}"
            if self.has_look_alike:
                accepted += (
                    ", or sources that include look-alike"
                    " (--set 'sources=[redrawn, official, look-alike]')"
                )
            raise WrongInput(f"data {name}", f"no official file in {cache}", accepted)
        return pixels.mapped(cache / self.ready, self.shape)

    def fetch(self, cache: Path, progress: StepProgress = no_progress) -> Path:
        """The prepared file, made from downloads if it is missing or damaged."""
        if self.by_hand and not self.check(cache):
            file = self.files[0]
            accepted = f"--from PATH: {file.name}, unpacked from {', '.join(file.urls)}"
            raise WrongInput("data fetch", f"no {file.name}, which is in an archive", accepted)
        downloads = cache / "downloads"

        def verified() -> Callable[[], Blocks]:
            files = {file.name: download(file, downloads, progress) for file in self.files}
            return lambda: self.read(files)

        try:
            target = self._prepared(cache, verified, progress)
        except WrongInput:
            for file in self.files:
                if not file.checksum:  # its reader may have refused it, and would do so again
                    (downloads / file.name).unlink(missing_ok=True)
            raise
        for file in self.files:
            (downloads / file.name).unlink(missing_ok=True)
            (downloads / f"{file.name}.partial").unlink(missing_ok=True)
        return target

    def take(self, path: Path, cache: Path, progress: StepProgress = no_progress) -> Path:
        """The prepared file, made from the user's file or folder (of any depth) at `path`.

        Nothing there is changed or copied.
        """
        return self._prepared(cache, lambda: self._reader(path, progress), progress)

    def _prepared(
        self,
        cache: Path,
        source: Callable[[], Callable[[], Blocks]],
        progress: StepProgress,
    ) -> Path:
        """The prepared file; `source` is called under a lock if it has to be made."""
        target = cache / self.ready
        if not self.check(cache):
            with writing_to(cache):
                (cache / "downloads").mkdir(parents=True, exist_ok=True)
                with locked(cache / "downloads" / f"{self.ready}.lock"):
                    if not self.check(cache):  # another process may have made it before
                        blocks = source()
                        target.unlink(missing_ok=True)
                        progress("converting", 0.0)
                        pixels.prepared(
                            target, self.shape, blocks, lambda done: progress("converting", done)
                        )
        return target

    def _reader(self, path: Path, progress: StepProgress) -> Callable[[], Blocks]:
        """How to read what is at `path`: published names first, as they have checksums."""
        candidates = {file: files_named(path, file.name) for file in self.files}
        if not all(candidates.values()):
            for form in self.other_forms:
                if (place := form.find(path)) is not None:
                    return lambda: form.read(place)
            if len(self.files) == 1 and path.is_file():
                candidates = {self.files[0]: [path]}  # any name, as the checksum is compared
        missing = [file.name for file, copies in candidates.items() if not copies]
        if missing:
            meanings = [form.meaning for form in self.other_forms]
            raise WrongInput(
                str(path),
                f"no {missing[0]}" if path.exists() else "nothing there",
                "; or ".join([", ".join(file.name for file in self.files), *meanings]),
            )
        files = {
            file.name: _verified(file, copies, progress) for file, copies in candidates.items()
        }
        return lambda: self.read(files)


def files_named(path: Path, name: str) -> list[Path]:
    """`path` itself if it is a file of this name, or the ones below a folder.

    Links to folders are not followed: a link to a parent would be an endless tree.
    """
    if path.is_file():
        return [path] if path.name == name else []
    folders = (Path(folder) for folder, _, files in os.walk(path) if name in files)
    return sorted(folder / name for folder in folders if (folder / name).is_file())


def _verified(file: RemoteFile, copies: list[Path], progress: StepProgress) -> Path:
    """The first copy with the right checksum: others may be old or broken downloads."""
    for copy in copies:
        with reading(copy):
            if has_checksum(copy, file.checksum, progress):
                return copy
    raise WrongInput(str(copies[0]), "a wrong checksum", f"{file.name} with {file.checksum}")
