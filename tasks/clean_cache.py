"""Prepared files that can be removed: no study needs them, or they can be made again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import data
from data.base import cache as data_cache
from data.official.download import remains
from data.official.published import origin_file
from data.own import copies


@dataclass(frozen=True)
class Removable:
    """Files that go together, and what they are; a process that uses them has mapped the first."""

    files: tuple[Path, ...]
    what: str

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files if file.exists())

    def remove(self) -> bool:
        """False if a process of this machine uses them."""
        first, *others = self.files
        return data_cache.remove_unused(first, others)


def removable(cache: Path, everything: bool = False, fetched: bool = False) -> list[Removable]:
    """What no study needs, and look-alikes, which are drawn again within seconds,
    or of teapots minutes.

    `everything`: also what is drawn again, or read again from the user's own files; `fetched`: also
    published files, which were downloaded or given. Files of other names are not ours.
    """
    wanted = {"look-alike"} | ({"redrawn"} if everything else set())
    wanted |= {"published"} if fetched else set()
    return [
        *_leftovers(cache),
        *_own(cache, everything),
        *_known(cache, wanted),
        *(_downloads(cache) if fetched else ()),
    ]


def _leftovers(cache: Path) -> Iterator[Removable]:
    names = "|".join([copies.FILE.pattern, *map(_any_number, _known_files())])
    ours = re.compile(rf"({names})\.(lock|.+\.partial)")
    for folder in (cache, cache / "downloads"):
        for path in data_cache.leftovers(folder):
            if ours.fullmatch(path.name):
                yield Removable((path,), "left by a process that was ended")


def _own(cache: Path, everything: bool) -> Iterator[Removable]:
    for copy in copies.find(cache):
        being_written = data_cache.is_locked(cache / f"{copy.key}.facts.lock")
        if not being_written and (everything or copy.state != "current"):
            files = sorted(copy.files, key=lambda file: file.suffix != ".pixels")
            place = copy.place or "own pictures"
            yield Removable(tuple(files), f"copy of {place}: {copies.MEANINGS[copy.state]}")


def _known(cache: Path, wanted: set[str]) -> Iterator[Removable]:
    """Files of known data sets that are wanted, and of other versions of them, which for redrawn
    pictures are always wanted."""
    old_wanted = wanted | {"redrawn"}
    paths = sorted(cache.glob("*"))
    for file, (kind, name) in _known_files().items():
        now, any_version = (re.compile(p) for p in (data.file_pattern(file), _any_number(file)))
        what = f"{kind} pictures of {name}"
        for path in paths:
            is_now = now.fullmatch(path.name)
            files = tuple(file for file in (path, origin_file(path)) if file.exists())
            if is_now and kind in wanted:
                yield Removable(files, what)
            elif not is_now and kind in old_wanted and any_version.fullmatch(path.name):
                yield Removable(files, f"{what}, of another version")


def _known_files() -> dict[str, tuple[str, str]]:
    """The kind of each file, and the first data set that reads it."""
    files: dict[str, tuple[str, str]] = {}
    for name in data.DATA_SETS:
        published = data.published_files(name)
        for source, file in (*data.files(name).items(), *data.first_files(name).items()):
            files.setdefault(file, ("published" if source in published else source, name))
    return files


def _any_number(file: str) -> str:
    """The pattern of a file's name, of which the number is raised when the pictures change."""
    stem, ending = re.split(r"-\d+(?=\.\w+$)", file)
    return rf"{data.file_pattern(stem)}-\d+{re.escape(ending)}"


def _downloads(cache: Path) -> Iterator[Removable]:
    """Of published files that were not prepared yet."""
    for name in data.DATA_SETS:
        for published in data.published_files(name).values():
            for remote in published.files:
                for path in remains(remote, cache / "downloads"):
                    yield Removable((path,), f"download for {name}")
