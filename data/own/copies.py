"""The copies of a user's own pictures in a cache: what each is of, and whether it is still used.

A copy is files whose names begin alike: `own-VERSION-HASH.pixels`, `.facts` and others.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from data.own.files import OwnFiles, fingerprint
from infra.errors import WrongInput
from infra.new_file import written_whole

VERSION = 3  # raise it when the same files give other pixels, factors or facts
START = f"own-{VERSION}-"  # of the names of a copy's files
FILE = re.compile(r"own-\d+-[0-9a-f]{32}\.(?:pixels|factors|real|facts|origin)")

State = Literal["current", "changed", "gone", "unknown"]
MEANINGS: dict[State, str] = {
    "current": "in use as long as these files do not change",
    "changed": "these files have changed since",
    "gone": "these files are not there",
    "unknown": "of another version, or half-written",
}


@dataclass(frozen=True)
class Copy:
    """Its files, the place of the pictures that it is of, what is known of them, and its state."""

    key: str
    files: tuple[Path, ...]
    origin: OwnFiles | None
    facts: dict[str, Any]
    state: State

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)

    @property
    def place(self) -> str:
        """The folder or file of the pictures; empty if it is not known."""
        return (self.origin and (self.origin.folder or self.origin.images)) or ""


def find(cache: Path) -> list[Copy]:
    """All in the cache, in the order of their places."""
    files = sorted(path for path in cache.glob("own-*") if FILE.fullmatch(path.name))
    found = [_copy(key, list(group)) for key, group in groupby(files, key=lambda path: path.stem)]
    return sorted(found, key=lambda copy: (copy.place == "", copy.place, copy.key))


def _copy(key: str, files: Sequence[Path]) -> Copy:
    of = {file.suffix: file for file in files}
    facts = read_facts(of[".facts"]) if ".facts" in of else None
    origin = _read_origin(of[".origin"]) if ".origin" in of else None
    state = _state(key, origin) if facts else "unknown"
    return Copy(key, tuple(files), origin, facts or {}, state)


def _state(key: str, origin: OwnFiles | None) -> State:
    if not key.startswith(START) or origin is None:
        return "unknown"
    try:
        return "current" if key == f"{START}{fingerprint(origin)}" else "changed"
    except WrongInput:
        return "gone"


def write_origin(path: Path, files: OwnFiles) -> None:
    """Remember where the pictures are, by paths without links to folders."""
    places = {
        field: str(files.place(field)) if isinstance(place, str) else place
        for field, place in asdict(files).items()
    }
    with written_whole(path) as partial:
        partial.write_text(json.dumps(places), encoding="utf-8")


def _read_origin(path: Path) -> OwnFiles | None:
    try:
        return OwnFiles(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def with_checksum(facts: dict[str, Any]) -> bytes:
    text = json.dumps(facts).encode()
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


def read_facts(path: Path) -> dict[str, Any] | None:
    """The facts, or None if there are none, or the checksum is wrong."""
    try:
        checksum, _, text = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if checksum != hashlib.sha256(text).hexdigest().encode():
        return None
    facts: dict[str, Any] = json.loads(text)
    return facts
