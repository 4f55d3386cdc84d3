"""Where prepared data is on a machine, and how a file gets there whole or not at all."""

import errno
import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from infra.errors import WrongInput
from infra.new_file import absolute, written_whole

ENVIRONMENT = "TOLSTOY_DATA"
ABANDONED_SECONDS = 3600  # a process that still writes does so more often


def folder() -> Path:
    """The folder that TOLSTOY_DATA names, else the user's cache; it need not exist yet."""
    if name := os.environ.get(ENVIRONMENT):
        return absolute(ENVIRONMENT, name)
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
        if _is_abandoned(partial):
            partial.unlink(missing_ok=True)


def check_can_write(folder: Path) -> None:
    """Raise if nothing can be prepared in this folder; nothing is written for it."""
    with writing_to(folder):
        place = next(place for place in (folder, *folder.parents) if place.exists())
        if not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


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
    """One process of a machine at a time; the system drops the lock of a dead process.

    The file is removed at the end. A process that waited for it then has a file without a name,
    and opens another.
    """
    while True:
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _has_name(file, path):
                continue
            try:
                yield
            finally:
                with suppress(OSError):  # of another user, in a folder that all may write to
                    path.unlink(missing_ok=True)
            return


def _has_name(file: IO[Any], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def hold(file: IO[Any]) -> None:
    """Say that the file is in use, until it and all its maps are closed."""
    with suppress(OSError):  # a network drive without locks
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def remove_unused(path: Path, others: Iterable[Path] = ()) -> bool:
    """Remove a file, and others that are of no use without it. False if a process uses it, if that
    cannot be known, or if it is another user's."""
    try:
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for each in (*others, path):
                each.unlink(missing_ok=True)
    except FileNotFoundError:  # another process has removed it
        return True
    except OSError:
        return False
    return True


def leftovers(folder: Path) -> list[Path]:
    """Locks and half-written files of processes that were killed."""
    locks = [path for path in folder.glob("*.lock") if not is_locked(path)]
    partial = [
        path
        for path in folder.glob("*.partial")
        if not is_locked(_lock_of(path)) and (_is_of_this_host(path) or _is_abandoned(path))
    ]
    return sorted([*locks, *partial])


def _lock_of(partial: Path) -> Path:
    """FILE.HOST.partial is written under FILE.lock; a host's name may have dots."""
    name = partial.name.removesuffix(".partial").removesuffix(f".{socket.gethostname()}")
    return partial.with_name(f"{name}.lock")


def _is_of_this_host(partial: Path) -> bool:
    return partial.name.endswith(f".{socket.gethostname()}.partial")


def _is_abandoned(partial: Path) -> bool:
    try:
        return time.time() - partial.stat().st_mtime > ABANDONED_SECONDS
    except FileNotFoundError:  # it got its name just now
        return False


def is_locked(path: Path) -> bool:
    """Whether a process is inside `locked(path)`, or this cannot be known."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:  # it is locked, another user's, or on a network drive without locks
        return True
    return False
