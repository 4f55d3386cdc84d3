"""Where prepared data is on a machine, and how a file gets there whole or not at all."""

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from infra.errors import WrongInput
from infra.new_file import written_whole

ENVIRONMENT = "TOLSTOY_DATA"
ABANDONED_SECONDS = 3600  # a process that still writes does so more often


def folder() -> Path:
    """The folder that TOLSTOY_DATA names, else the user's cache; it need not exist yet."""
    if name := os.environ.get(ENVIRONMENT):
        return Path(name).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("tolstoy"))


def prepare(
    target: Path, is_whole: Callable[[Path], bool], write: Callable[[BinaryIO], None]
) -> Path:
    """`target`, written first if it is missing or not whole.

    - It is written under another name, flushed to the disk, then renamed: a reader never sees
      half a file, whenever the writer is killed.
    - One process of a machine writes and the others wait. The system drops the lock of a dead
      process, so the next one may overwrite the dead one's partial file. Its name holds the
      host's name, for network drives that do not share locks.
    - An OSError, also one of `write`, is reported as an error of this folder. A writer that reads
      from another place must report that place's errors itself.
    """
    partial = target.with_name(f"{target.name}.{socket.gethostname()}.partial")
    with writing_to(target.parent):
        if is_whole(target):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(f"{target.name}.lock")):
            if not is_whole(target):
                _remove_abandoned(target)
                with written_whole(target, partial), partial.open("wb") as file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
    return target


def _remove_abandoned(target: Path) -> None:
    for partial in target.parent.glob(f"{target.name}.*.partial"):
        if time.time() - partial.stat().st_mtime > ABANDONED_SECONDS:
            partial.unlink(missing_ok=True)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Errors of the disk inside are reported as an error of this folder, on one line."""
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
