"""A file system under a store that counts its calls and makes the n-th of them fail.

It stands in for pyarrow's in `infra.files`, and for the functions of `os`, `io` and `fcntl` that
the store and its drivers call directly. Stores named s3://... are object stores that live in a
folder: an object appears whole when its stream is closed, there are no locks and no links, and a
move is a copy and a removal.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.fs as pafs
import pytest

from infra.drivers import lock

WRITES = frozenset(
    {"create_dir", "mkdir", "open_output_stream", "write", "close", "fsync", "link", "move", "open"}
)
REMOVALS = frozenset({"delete_file", "unlink"})
NAMES_A_FILE = frozenset({"open_input_file", "get_file_info", "move", "delete_file", "link"})
READS = frozenset({"open_input_file", "get_file_info", "list", "read", "flock"})
CHANGES = WRITES | REMOVALS
ALL = CHANGES | READS

Act = Callable[[], Any]


class Ended(BaseException):
    """The process has ended here: nothing that runs after it reaches a file."""


@dataclass(frozen=True)
class Kind:
    """What goes wrong, and at which calls. `error` makes the error; none ends the process."""

    calls: frozenset[str]
    error: Callable[[str], OSError] | None
    lasts: bool = False  # every call from the n-th on fails, not the n-th alone
    when: str = "before"  # or: half (of a write is done), after (all is done), cut (the file loses
    # half of what was not flushed), gone (a temporary file is removed by somebody else)


def _system(number: int) -> Callable[[str], OSError]:
    return lambda path: OSError(number, os.strerror(number), path)


def _aws(kind: str) -> Callable[[str], OSError]:
    return lambda path: OSError(f"When calling S3 at '{path}': AWS Error {kind} during a request")


IN_FOLDERS = {
    "full for a moment": Kind(WRITES, _system(errno.ENOSPC), when="half"),
    "full": Kind(WRITES, _system(errno.ENOSPC), lasts=True, when="half"),
    "read-only": Kind(CHANGES, _system(errno.EROFS), lasts=True),
    "stale handle": Kind(ALL, _system(errno.ESTALE)),
    "vanished": Kind(NAMES_A_FILE, _system(errno.ENOENT), when="gone"),
    "torn write": Kind(frozenset({"write", "close"}), _system(errno.EIO), when="half"),
    "done, no answer": Kind(CHANGES, _system(errno.ETIMEDOUT), when="after"),
    "process ends": Kind(ALL, None, when="half"),
    "process ends after": Kind(CHANGES, None, when="after"),
    "power cut": Kind(frozenset({"move"}), None, when="cut"),
}
IN_OBJECT_STORES = {
    "away for a moment": Kind(ALL, _aws("NETWORK_CONNECTION")),
    "away": Kind(ALL, _aws("NETWORK_CONNECTION"), lasts=True),
    "denied": Kind(CHANGES, _aws("ACCESS_DENIED"), lasts=True),
    "vanished": Kind(NAMES_A_FILE, _system(errno.ENOENT), when="gone"),
    "done, no answer": Kind(CHANGES, _aws("NETWORK_CONNECTION"), when="after"),
    "process ends": Kind(ALL, None, when="half"),
    "process ends after": Kind(CHANGES, None, when="after"),
}
NOTHING = Kind(ALL, None)


@dataclass
class Storage:
    """The calls so far, and which of them fails. Number 0: none does."""

    roots: tuple[Path, ...]
    kind: Kind = NOTHING
    number: int = 0
    count: int = 0  # calls that this kind of fault can strike
    struck: str = ""  # the call that failed
    ended: bool = False
    flushed: set[str] = field(default_factory=set)
    opened: dict[int, str] = field(default_factory=dict)  # paths of file numbers
    locks: list[Any] = field(default_factory=list)  # that a process which ended has left open
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def arm(self, kind: Kind = NOTHING, number: int = 0) -> None:
        self.kind, self.number, self.count = kind, number, 0
        self.struck, self.ended = "", False
        self.flushed.clear()
        for file in self.locks:
            if file:
                file.close()
        self.locks.clear()

    def holds(self, path: object) -> bool:
        return isinstance(path, str | Path) and any(
            Path(path).is_relative_to(root) for root in self.roots
        )

    def call(self, name: str, path: str, act: Act, half: Act = lambda: None) -> Any:
        """Do it; or fail in its place, half of it done, or all of it."""
        with self._lock:
            if self.ended:
                raise Ended
            kind = self.kind
            self.count += name in kind.calls
            due = name in kind.calls and (
                self.count == self.number or (kind.lasts and self.count > self.number > 0)
            )
            if not due:
                return act()
            self.struck = self.struck or f"{name} {Path(path).name}"
            if kind.when in ("half", "cut"):
                half()
            elif kind.when == "after" or (kind.when == "gone" and name in REMOVALS):
                with suppress(OSError):  # of a folder that is there, or a file that is not
                    act()
            elif kind.when == "gone" and path.endswith(".tmp"):
                Path(path).unlink()
            if kind.error is None:
                self.ended = True
                raise Ended
            raise kind.error(path)

    def info(self, fs: Any, asked: Any) -> Any:
        listed = isinstance(asked, pafs.FileSelector)
        paths = [asked] if isinstance(asked, str) else [] if listed else list(asked)
        name, place = ("list", asked.base_dir) if listed else ("get_file_info", str(paths[:1]))
        try:
            return self.call(name, place, lambda: fs(asked))
        except FileNotFoundError:  # that is no error of this call, but its answer
            missing = pafs.FileInfo(paths[0], pafs.FileType.NotFound)
            return missing if isinstance(asked, str) else [missing, *fs(paths[1:])]


class Stream:
    """A file that is read or written; an object is there once it is closed."""

    def __init__(self, storage: Storage, path: str, stream: Any, appears: Path | None) -> None:
        self.storage, self.path, self.stream, self.appears = storage, path, stream, appears
        self.closed = self.failed = False

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, *size: int) -> Any:
        return self.storage.call("read", self.path, lambda: self.stream.read(*size))

    def seek(self, *place: int) -> Any:
        return self.stream.seek(*place)

    def tell(self) -> int:
        return int(self.stream.tell())

    def seekable(self) -> bool:
        return True

    def write(self, data: Any) -> None:
        def half() -> None:
            self.stream.write(memoryview(data)[: len(memoryview(data)) // 2])

        try:
            self.storage.call("write", self.path, lambda: self.stream.write(data), half)
        except BaseException:
            self.failed = True
            raise

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        reads = not hasattr(self.stream, "writable") or not self.stream.writable()
        if reads or self.failed:
            self.stream.close()
            return
        try:
            self.storage.call("close", self.path, self._appear)
        finally:
            self.stream.close()

    def _appear(self) -> None:
        self.stream.close()
        if self.appears:
            Path(self.path).replace(self.appears)


def _file_systems(storage: Storage) -> tuple[type, type]:
    """Stand-ins for the local file system, and for an object store."""

    class Failing(pafs.LocalFileSystem):  # type: ignore[misc]
        def get_file_info(self, asked: Any) -> Any:
            return storage.info(super().get_file_info, asked)

        def create_dir(self, path: str, *, recursive: bool = True) -> None:
            make = super().create_dir
            storage.call("create_dir", path, lambda: make(path, recursive=recursive))

        def delete_file(self, path: str) -> None:
            delete = super().delete_file
            storage.call("delete_file", path, lambda: delete(path))

        def open_input_file(self, path: str) -> Stream:
            opens = super().open_input_file
            stream = storage.call("open_input_file", path, lambda: opens(path))
            return Stream(storage, path, stream, None)

    class Folder(Failing):
        def move(self, path: str, other: str) -> None:
            rename = super().move

            def cut() -> None:
                rename(path, other)
                if storage.kind.when == "cut" and path not in storage.flushed:
                    os.truncate(other, Path(other).stat().st_size // 2)

            half = cut if storage.kind.when == "cut" else lambda: None
            storage.call("move", path, lambda: rename(path, other), half)

        def open_output_stream(self, path: str) -> Stream:
            opens = super().open_output_stream
            stream = storage.call("open_output_stream", path, lambda: opens(path))
            return Stream(storage, path, stream, None)

    class Bucket(Failing):
        def move(self, path: str, other: str) -> None:
            copied = Path(path).read_bytes() if Path(path).exists() else None
            if copied is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            storage.call("move", path, lambda: _put(other, copied))
            storage.call("delete_file", path, Path(path).unlink)

        def open_output_stream(self, path: str) -> Stream:
            appears = Path(path)
            appears.parent.mkdir(parents=True, exist_ok=True)
            hidden = appears.with_name(f".{appears.name}.upload")
            return Stream(storage, str(hidden), hidden.open("wb"), appears)

    return Folder, Bucket


def _put(path: str, content: bytes) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content)


def install(patch: pytest.MonkeyPatch, storage: Storage, buckets: Path) -> None:
    """From now on stores use this storage; objects are in the folder `buckets`."""
    folder, bucket = _file_systems(storage)

    class FileSystem:
        @staticmethod
        def from_uri(uri: str) -> tuple[Any, str]:
            return bucket(), f"{buckets}/{uri.partition('://')[2]}"

    stand_ins = {"LocalFileSystem": folder, "FileSystem": FileSystem}
    patch.setattr("infra.files.pafs", SimpleNamespace(**{**vars(pafs), **stand_ins}))
    held = lock.lock

    def hold(driver_id: str) -> Any:
        storage.locks.append(file := held(driver_id))
        return file

    patch.setattr(lock, "lock", hold)
    for module, name, place in (
        (os, "mkdir", 0),
        (os, "unlink", 0),
        (os, "link", 1),
        (os, "open", 0),
        (os, "write", 0),
        (os, "fsync", 0),
        (io, "open", 0),
        (fcntl, "flock", 0),
    ):
        patch.setattr(module, name, _counted(storage, getattr(module, name), name, place))


def _counted(storage: Storage, function: Callable[..., Any], name: str, place: int) -> Any:
    """The function, counted if it is called for a file of the store."""

    def does(*arguments: Any, **more: Any) -> Any:
        path = _path_of(storage, arguments[place])
        if not storage.holds(path):
            return function(*arguments, **more)

        def act() -> Any:
            if name == "fsync":  # waiting for the disk would take most of the time
                storage.flushed.add(str(path))
                return None
            result = function(*arguments, **more)
            if name == "open" and isinstance(result, int):
                storage.opened[result] = str(path)
            return result

        def half() -> None:
            if name == "write":
                function(arguments[0], arguments[1][: len(arguments[1]) // 2])

        return storage.call(name, str(path), act, half)

    return does


def _path_of(storage: Storage, argument: Any) -> Any:
    if isinstance(argument, int):
        return storage.opened.get(argument)
    return getattr(argument, "name", argument) if isinstance(argument, io.IOBase) else argument


@contextmanager
def failing_storage(folder: Path) -> Iterator[Storage]:
    """A storage for stores below `folder`/stores and for s3://...; and for locks of drivers."""
    locks, stores = folder / "locks", folder / "stores"
    locks.mkdir(parents=True, exist_ok=True)
    storage = Storage((stores, locks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("infra.drivers.liveness.LOCKS", locks)
        install(patch, storage, folder / "buckets")
        yield storage
