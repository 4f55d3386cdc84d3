"""Where prepared data lives on a machine, and how a file gets there whole or not at all."""

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from infra.errors import WrongInput

ENVIRONMENT = "TOLSTOY_DATA"
ABANDONED_SECONDS = 3600  # nobody who still writes leaves a file untouched for that long


def folder() -> Path:
    """The folder that TOLSTOY_DATA names, else the user's own cache; it need not exist yet."""
    if named := os.environ.get(ENVIRONMENT):
        return Path(named).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("tolstoy"))


def prepare(
    target: Path, is_whole: Callable[[Path], bool], write: Callable[[BinaryIO], None]
) -> Path:
    """`target`, written first if it is missing or not whole.

    It is written under another name, forced to the disk, then renamed, so a reader never meets
    half a file, whenever the writer is killed. One process of a machine writes and the others
    wait: the system drops the lock of a dead process, so whoever holds it may reuse what a dead
    writer left. The other name holds the host's, for network drives that do not share locks.
    An OSError, also one of `write`, is reported as the disk's: a writer that reads from
    somewhere else reports that place's errors itself.
    """
    partial = target.with_name(f"{target.name}.{socket.gethostname()}.partial")
    with writing_to(target.parent):
        if is_whole(target):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(f"{target.name}.lock")):
            if not is_whole(target):
                _remove_abandoned(target)
                _write_whole(partial, target, write)
    return target


def _write_whole(partial: Path, target: Path, write: Callable[[BinaryIO], None]) -> None:
    try:
        with partial.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _remove_abandoned(target: Path) -> None:
    for partial in target.parent.glob(f"{target.name}.*.partial"):
        if time.time() - partial.stat().st_mtime > ABANDONED_SECONDS:
            partial.unlink(missing_ok=True)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Whatever the disk refuses meanwhile is told as a fault of this folder, on one line."""
    try:
        yield
    except OSError as error:
        raise WrongInput(
            f"data cache (set {ENVIRONMENT} to choose it)",
            f"{folder}: {error.strerror or error}",
            "a folder with room where files can be written and locked",
        ) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process of a machine at a time; the system drops the lock of a dead process."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
