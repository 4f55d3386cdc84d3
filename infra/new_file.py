"""Files on this machine: where they are, whether they exist, how they appear whole or not at all,
and those that a command makes new."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from infra.errors import PERMITTED, WrongInput

PICTURES = (".png", ".svg", ".pdf")


def absolute(field: str, place: str) -> Path:
    """The absolute path; `~` and `~name` are the homes of users that exist."""
    return Path(with_home(field, place)).absolute()


def with_home(field: str, place: str) -> str:
    """The same place, without `~` or `~name` at its start; a URI has none."""
    if not place.startswith("~"):
        return place
    try:
        return str(Path(place).expanduser())
    except RuntimeError:
        accepted = "a path; ~NAME is the home of a user of this machine"
        raise WrongInput(field, place, accepted) from None


def is_file(path: Path) -> bool:
    """Whether there is a file; also false for a name that no file can have, as it is too long."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def can_exist(path: Path) -> bool:
    """Whether a file can have this name: not if it is too long, or contains a zero byte."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return True
    except (OSError, ValueError):
        return False
    return True


@contextmanager
def written_whole(path: Path, partial: Path | None = None) -> Iterator[Path]:
    """Yields where to write; afterwards that file is renamed to `path`, or removed on an error.

    `partial` is the name until then. By default it keeps the extension, by which some writers
    choose a format.
    """
    partial = partial or path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def new_file(path: Path, option: str, endings: Sequence[str]) -> Path:
    """The path, if a file of this kind can be made there; otherwise the one-line error of a
    command's option. To be called before the work whose result goes there."""
    if path.suffix.lower() not in endings:
        raise WrongInput(option, str(path), f"a name that ends in {' or '.join(endings)}")
    if not can_exist(path):
        raise WrongInput(option, str(path), "a shorter name, without zero bytes")
    try:
        is_taken = path.exists() or path.is_symlink()
    except OSError as error:  # a folder on the way to it may not be entered
        raise WrongInput(option, f"{path} ({error.strerror or error})", PERMITTED) from None
    if is_taken:
        raise WrongInput(option, str(path), "a file that does not exist yet")
    if not path.parent.is_dir():
        raise WrongInput(option, f"{path}, whose folder does not exist", "a folder that exists")
    if not os.access(path.parent, os.W_OK):
        raise WrongInput(option, f"{path}, whose folder is read-only", "a place to write")
    return path


@contextmanager
def writing_new(path: Path, option: str, endings: Sequence[str]) -> Iterator[Path]:
    """Like `written_whole`, for a new file; what the disk refuses is an error of the option."""
    with writing_again(new_file(path, option, endings), option) as partial:
        yield partial


@contextmanager
def writing_again(path: Path, option: str) -> Iterator[Path]:
    """Like `writing_new`, but replaces a file that this command has made."""
    try:
        with written_whole(path) as partial:
            yield partial
    except OSError as error:
        refused_path = f"{path} ({error.strerror or error})"
        raise WrongInput(option, refused_path, "a place with room to write") from None
