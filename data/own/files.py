"""What a user gives as data: which files, and whether they are there."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from data.base.reading import reading, shown
from data.own import folder
from infra.errors import WrongInput


@dataclass(frozen=True)
class OwnFiles:
    """Either images, with or without factors, or a folder of unlabelled pictures."""

    images: str | None = None
    factors: str | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        if (self.images is None) == (self.folder is None):
            found = "neither" if self.images is None else "both"
            raise WrongInput("data", f"{found} of images and folder", "one of them")
        if self.folder is not None and self.factors is not None:
            raise WrongInput("data.factors", self.factors, "no factors with a folder, use images")

    def path(self, which: str) -> Path:
        """The absolute path given as `which`, a field's name."""
        return Path(getattr(self, which)).expanduser().absolute()


def fingerprint(files: OwnFiles) -> str:
    """A hash of what was given, which changes when a file does; no file is opened.

    Also the first look at the files, so a missing one is named here.
    """
    seen: list[tuple[str, str, int, int]] = []
    for which in ("images", "factors", "folder"):
        if (given := getattr(files, which)) is None:
            continue
        with reading(f"data.{which}", given, "what exists and can be read"):
            path = files.path(which)
            _check_kind(path, which)
            for file in folder.find(path) if which == "folder" else [path]:
                facts = file.stat()
                seen.append((which, str(file), facts.st_size, facts.st_mtime_ns))
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:32]


def _check_kind(path: Path, which: str) -> None:
    wanted = "a folder" if which == "folder" else "a file"
    if not path.exists():
        found = f"no {shown(path.name)} in {shown(path.parent)}"
    elif path.is_dir() != (which == "folder"):
        found = f"{shown(path.name)}, a {'folder' if path.is_dir() else 'file'}"
    else:
        return
    raise WrongInput(f"data.{which}", found, f"{wanted} that exists")
