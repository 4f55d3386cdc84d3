"""The files of a user's own data, and whether they exist."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from data.base.reading import printable, reading
from data.own import folder
from infra.errors import WrongInput
from infra.new_file import absolute


@dataclass(frozen=True)
class OwnFiles:
    """Either images, with or without factors, or a folder of unlabelled pictures.

    tasks.study.spec checks that it is one of the two.
    """

    images: str | None = None
    factors: str | None = None
    folder: str | None = None
    skip_broken: bool = False  # pictures in the folder

    def path(self, field: str) -> Path:
        """The absolute path of one of the fields."""
        return absolute(f"data.{field}", getattr(self, field))

    def place(self, field: str) -> Path:
        """The same for all ways to write it: `..` and links to folders are followed. A file keeps
        its name, whose ending says how it is read."""
        path = self.path(field)
        return path.resolve() if path.is_dir() else path.parent.resolve() / path.name


def fingerprint(files: OwnFiles) -> str:
    """A hash of paths, sizes and times, which changes when a file does; no file is opened.

    This is the first access to the files, so a missing one is reported here.
    """
    facts: list[tuple[str, str, int, int]] = []
    for field in ("images", "factors", "folder"):
        if (name := getattr(files, field)) is None:
            continue
        with reading(f"data.{field}", name, "what exists and can be read"):
            _check_kind(files.path(field), field)
            path = files.place(field)
            for file in folder.find(path) if field == "folder" else [path]:
                status = file.stat() if file.exists() else file.lstat()
                facts.append((field, str(file), status.st_size, status.st_mtime_ns))
    return hashlib.sha256(json.dumps([facts, files.skip_broken]).encode()).hexdigest()[:32]


def _check_kind(path: Path, field: str) -> None:
    """Raise unless there is a folder for the field `folder`, and a file for the others."""
    if not path.exists():
        found = f"no {printable(path.name)} in {printable(path.parent)}"
    elif path.is_dir() != (field == "folder"):
        found = f"{printable(path.name)}, a {'folder' if path.is_dir() else 'file'}"
    elif not path.is_dir() and not path.is_file():
        found = f"{printable(path.name)}, a pipe, a socket or a device"
    else:
        return
    kind = "folder" if field == "folder" else "file"
    raise WrongInput(f"data.{field}", found, f"a {kind} that exists")
