"""Files in a directory or below an object store's prefix: whole, lasting, exclusive or locked."""

from __future__ import annotations

import errno
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.fs as pafs

from infra import object_store
from infra.errors import WrongInput

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ESTALE)
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # as on USB sticks
PROBE = os.urandom(1 << 16)  # that no file system packs into nothing
ABANDONED_SECONDS = 3600  # no file takes an hour to write


def no_room(error: BaseException) -> str:
    """What the store says if it is full or out of reach for now; nothing of other errors.

    An error that comes from a Ray worker carries the original as its cause.
    """
    error = getattr(error, "cause", None) or error
    if not isinstance(error, OSError):
        return ""
    if object_store.is_away(error):
        return "the object store does not answer"
    return os.strerror(error.errno) if error.errno in NO_ROOM else ""


def refusal(error: OSError) -> WrongInput | None:
    """What is told of a store that cannot be written or does not answer; None of other errors."""
    if (told := object_store.refusal(error)) or not (reason := no_room(error)):
        return told
    place = f"{error.filename}: " if error.filename else ""
    return WrongInput("store", f"{place}{reason}", "room to write; the same command goes on")


class Files:
    """Files below one place; everything is written whole or not at all.

    To a temporary name that is then renamed, or, in an object store, in one request.
    """

    def __init__(self, uri: str | Path) -> None:
        self.uri = str(uri)
        if "://" in self.uri:
            try:
                fs, self.root = pafs.FileSystem.from_uri(self.uri)
                self.fs = object_store.impatient(fs)
                if not self.root:
                    raise OSError("no bucket")
            except (pa.ArrowInvalid, OSError) as error:
                told = object_store.without_key(str(error))
                raise WrongInput("store", str(self), f"a folder or a URI ({told})") from None
        else:
            self.fs, self.root = pafs.LocalFileSystem(), str(Path(self.uri).absolute())
            self.uri = self.root  # workers start in folders of their own
        self.local = isinstance(self.fs, pafs.LocalFileSystem)

    def __str__(self) -> str:
        """Without a key that a URI may carry."""
        return object_store.without_key(self.uri) if "://" in self.uri else _shown(Path(self.root))

    def path(self, *names: str) -> str:
        return "/".join((self.root, *names))

    def address(self, *names: str) -> str:
        """Where a person finds it: a path, or a URI without what leads to the server."""
        if self.local:
            return self.path(*names)
        return "/".join((str(self).partition("?")[0].rstrip("/"), *names))

    def exists(self, *names: str) -> bool:
        return bool(self.fs.get_file_info(self.path(*names)).type != pafs.FileType.NotFound)

    def names(self, *folder: str) -> list[str]:
        """File and folder names directly below a folder, sorted; none if it is not there."""
        return [name for name, _ in self.listing(*folder)]

    def listing(self, *folder: str) -> list[tuple[str, int]]:
        """Names and times of last change (ns) directly below a folder."""
        below = pafs.FileSelector(self.path(*folder), allow_not_found=True, recursive=False)
        found = [f for f in self.fs.get_file_info(below) if not f.base_name.startswith(".")]
        return sorted((f.base_name, f.mtime_ns or 0) for f in found)

    def read_bytes(self, *names: str) -> bytes:
        with self.fs.open_input_file(self.path(*names)) as file:
            return cast(bytes, file.read())

    def write_bytes(self, data: bytes, *names: str, lasting: bool = False) -> None:
        """Write a file; a lasting one is on the disk, and not on its way there, afterwards."""
        with (
            self._whole(self.path(*names), lasting) as target,
            self.fs.open_output_stream(target) as file,
        ):
            file.write(data)

    def read_json(self, *names: str) -> Any:
        return json.loads(self.read_bytes(*names))

    def write_json(self, value: object, *names: str) -> None:
        self.write_bytes((json.dumps(value, indent=2) + "\n").encode(), *names, lasting=True)

    def move(self, names: Sequence[str], others: Sequence[str]) -> None:
        """Give a file another name, in place of what may have that name."""
        self.fs.move(self.path(*names), self.path(*others))

    def link_exclusively(
        self, names: Sequence[str], others: Sequence[str], lock: Sequence[str]
    ) -> bool:
        """Give a file one more name unless that is taken; of several at once one is told True.

        Where files have one name only, it is copied under the lock. On file systems only: an object
        store cannot be asked for that through pyarrow.
        """
        final = self.path(*others)
        try:
            os.link(self.path(*names), final)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            content = self.read_bytes(*names)
            with self.locked(*lock):  # so that an empty file is a dead writer's
                return _created(final, content)
        return True

    @contextmanager
    def locked(self, *names: str) -> Iterator[bool]:
        """Keep others out of blocks of this name; says whether this place can do that."""
        if not self.local:
            yield False
            return
        import fcntl

        place = Path(self.path(*names))
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError:  # a network file system without locks
                yield False
            else:
                yield True

    def remove(self, *names: str) -> None:
        with suppress(FileNotFoundError):
            self.fs.delete_file(self.path(*names))

    def sweep(self, *folder: str, older_than: float = 0.0) -> None:
        """Remove what killed writers left half-written directly below a folder."""
        below = pafs.FileSelector(self.path(*folder), allow_not_found=True, recursive=False)
        for file in self.fs.get_file_info(below):
            age = time.time() - (file.mtime_ns or 0) / 1e9
            if file.base_name.startswith(".") and file.extension == "tmp" and age >= older_than:
                self.fs.delete_file(file.path)

    def make(self, folders: Iterable[Sequence[str]]) -> None:
        """Create the place, or say in one line why it cannot be written; sweep these folders."""
        try:
            self.fs.create_dir(self.root, recursive=True)
            probe = self.path(f".probe-{uuid.uuid4().hex}")
            with self.fs.open_output_stream(probe) as file:
                file.write(PROBE)
            self.fs.delete_file(probe)
            for folder in folders:
                self.sweep(*folder, older_than=ABANDONED_SECONDS)
        except OSError as error:
            if self.local:
                reason = os.strerror(error.errno) if error.errno else str(error)
                accepted = "a folder that can be written"
            else:
                reason, accepted = object_store.told(error), object_store.ACCEPTED
            raise WrongInput("store", f"{self} ({reason})", accepted) from None

    def _temporary(self, final: str) -> str:
        if not self.local:
            return final
        folder, _, name = final.rpartition("/")
        Path(folder).mkdir(parents=True, exist_ok=True)
        return f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"

    @contextmanager
    def _whole(self, final: str, lasting: bool = False) -> Iterator[str]:
        """Where to write what then gets its name; of what could not be written nothing stays."""
        target = self._temporary(final)
        try:
            yield target
            if target != final:
                if lasting:  # file systems keep the order of names, but not that of contents
                    _flush(target)
                self.fs.move(target, final)
        except BaseException:
            if target != final:  # half of it would take room that is wanted
                with suppress(OSError):
                    Path(target).unlink()
            raise


def _created(final: str, data: bytes) -> bool:
    """Whether the file was not there; others may see it empty for a moment."""
    try:
        number = os.open(final, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except FileExistsError:
        return False
    try:
        os.write(number, data)
    except OSError:
        Path(final).unlink()
        raise
    finally:
        os.close(number)
    return True


def _flush(file: str) -> None:
    """Have a file's content written to the disk."""
    number = os.open(file, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
