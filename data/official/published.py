"""Data sets whose pictures come from files that their authors publish.

Such a file is downloaded, or read from where the user has it. Its checksum is compared, then its
pictures are written once into the file that the processes of a machine map (data.base.pixels).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from data.base import pixels
from data.base.cache import locked, writing_to
from data.base.pixels import Pixels
from data.official.download import (
    Copy,
    RemoteFile,
    StepProgress,
    checked,
    download,
    remains,
)
from data.official.unpack import reading
from infra.errors import WrongInput
from infra.new_file import written_whole

__all__ = ["OtherForm", "Published", "RemoteFile", "StepProgress", "files_named", "origin"]

Blocks = Iterator[Pixels]
ORIGIN = ".origin.json"  # ends the name of the file that says from where a prepared file came
Facts = list[dict[str, Any]]


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

    def content(self, cache: Path) -> str:
        """A hash of the pictures if they came from a copy without the published checksum, so that
        they count as other pictures; otherwise empty."""
        copies = origin(cache / self.ready)
        if self.is_ready(cache) and any(copy.get("published") is False for copy in copies):
            return pixels.checksum(cache / self.ready)
        return ""

    def fetch(self, cache: Path, progress: StepProgress = no_progress, name: str = "NAME") -> Path:
        """The prepared file of the data set `name`, made from downloads if it is missing or
        damaged."""
        if self.by_hand and not self.check(cache):
            file = self.files[0]
            accepted = f"--from PATH: {file.name}, unpacked from {', '.join(file.urls)}"
            raise WrongInput("data fetch", f"no {file.name}, which is in an archive", accepted)
        downloads = cache / "downloads"

        def verified() -> _Source:
            copies = [download(file, downloads, progress, name) for file in self.files]
            return self._copies(copies)

        try:
            target = self._prepared(cache, verified, progress)
        except WrongInput:
            for file in self.files:
                if not file.checksum:  # its reader may have refused it, and would do so again
                    (downloads / file.name).unlink(missing_ok=True)
            raise
        for file in self.files:
            for path in remains(file, downloads):
                path.unlink(missing_ok=True)
        return target

    def take(self, path: Path, cache: Path, progress: StepProgress = no_progress) -> Path:
        """The prepared file, made from the user's file or folder (of any depth) at `path`.

        Nothing there is changed or copied.
        """
        return self._prepared(cache, lambda: self._brought(path, progress), progress)

    def _prepared(
        self,
        cache: Path,
        source: Callable[[], _Source],
        progress: StepProgress,
    ) -> Path:
        """The prepared file; `source` is called under a lock if it has to be made."""
        target = cache / self.ready
        if not self.check(cache):
            with writing_to(cache):
                (cache / "downloads").mkdir(parents=True, exist_ok=True)
                with locked(cache / "downloads" / f"{self.ready}.lock"):
                    if not self.check(cache):  # another process may have made it before
                        self._make(target, source(), progress)
        return target

    def _make(self, target: Path, source: _Source, progress: StepProgress) -> None:
        """Write the prepared file; before it has its name, from where it comes is known."""
        blocks, facts = source
        target.unlink(missing_ok=True)
        with written_whole(origin_file(target)) as file:
            file.write_text(json.dumps(facts, indent=2) + "\n")
        progress("converting", 0.0)
        try:
            pixels.prepared(target, self.shape, blocks, lambda done: progress("converting", done))
        except BaseException:
            origin_file(target).unlink(missing_ok=True)
            raise

    def _copies(self, copies: list[Copy]) -> _Source:
        """Good copies of the files, in their order."""
        by_name = {file.name: copy.path for file, copy in zip(self.files, copies, strict=True)}
        facts = [copy.facts(file) for file, copy in zip(self.files, copies, strict=True)]
        return (lambda: self.read(by_name)), facts

    def _brought(self, path: Path, progress: StepProgress) -> _Source:
        """How to read what is at `path`: published names first, as they have checksums."""
        candidates = {file: files_named(path, file.name) for file in self.files}
        if not all(candidates.values()):
            for form in self.other_forms:
                if (place := form.find(path)) is not None:
                    facts = {"file": place.name, "place": str(place.resolve()), "published": None}
                    return partial(form.read, place), [facts]
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
        return self._copies([_verified(*each, progress) for each in candidates.items()])


_Source = tuple[Callable[[], Blocks], Facts]  # how to read it, and where it came from


def origin_file(ready: Path) -> Path:
    return ready.with_name(ready.name + ORIGIN)


def origin(ready: Path) -> Facts:
    """From where a prepared file came: for each published file its place, checksum and whether that
    is the published one; nothing for files of older versions, and those that are not published."""
    try:
        facts: Facts = json.loads(origin_file(ready).read_text())
    except (OSError, ValueError):
        return []
    return facts


def files_named(path: Path, name: str) -> list[Path]:
    """`path` itself if it is a file of this name, or the ones below a folder.

    Links to folders are not followed: a link to a parent would be an endless tree.
    """
    if path.is_file():
        return [path] if path.name == name else []
    folders = (Path(folder) for folder, _, files in os.walk(path) if name in files)
    return sorted(folder / name for folder in folders if (folder / name).is_file())


def _verified(file: RemoteFile, copies: list[Path], progress: StepProgress) -> Copy:
    """The first copy with the right checksum, or content: others may be old or broken downloads."""
    problem = ""
    for copy in copies:
        with reading(copy):
            checksum, problem = checked(copy, file, progress)
            if not problem:
                return Copy(copy, str(copy.resolve()), checksum)
    raise WrongInput(str(copies[0]), problem, f"{file.name} with {file.checksum}")
