"""Files in a directory or below an object store's prefix: whole, flushed, exclusive or locked."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.fs as pafs

from infra import object_store
from infra.errors import PERMITTED, RUN_AGAIN, WrongInput
from infra.new_file import absolute

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
AWAY = (  # of a drive that fails, and of one whose server is gone
    errno.EIO,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.ENOTCONN,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
)
NOT_PERMITTED = (errno.EACCES, errno.EPERM)
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # as on USB sticks
QUOTED = re.compile(r"'(/[^']+)'")
LONGEST_REASON = 200  # characters
LONGEST_NAME = 255  # bytes, in most file systems
ACCEPTED = "a store that can be read and written, with free space"
PROBE = ".probe"
PROBE_CONTENT = os.urandom(1 << 16)  # random: some file systems compress, and store zeros for free
ABANDONED_SECONDS = 3600  # no file takes an hour to write


def out_of_reach(error: BaseException) -> str:
    """Why a store is full, or does not answer, for now; empty for other errors.

    An error from a Ray worker has the original error as its cause.
    """
    error = getattr(error, "cause", None) or error
    if not isinstance(error, OSError):
        return ""
    if object_store.is_away(error):
        return "the object store does not answer"
    return os.strerror(error.errno) if error.errno in NO_ROOM + AWAY else ""


def refusal(error: Exception) -> WrongInput | None:
    """The message about a store that is full or does not answer, or about a file that this user
    may not use; None for other errors."""
    if type(error) is pa.ArrowException:  # an object store without permission, as of Azure
        return WrongInput("store", _first_line(error), object_store.ACCEPTED)
    if not isinstance(error, OSError):
        return None
    if message := object_store.refusal(error):
        return message
    if error.errno in NOT_PERMITTED:
        quoted = QUOTED.search(str(error))  # pyarrow's errors name the file only in their text
        name = error.filename or (quoted[1] if quoted else str(error))
        return WrongInput("place", f"{name}: {os.strerror(error.errno)}", PERMITTED)
    if not (reason := out_of_reach(error)):
        return None
    place = f"{error.filename}: " if error.filename else ""
    return WrongInput("store", f"{place}{reason}", f"{ACCEPTED}. {RUN_AGAIN}")


def _first_line(error: Exception) -> str:
    """The reason in short: pyarrow may list every library that it looked for."""
    return object_store.without_key(str(error)).partition("\n")[0][:LONGEST_REASON]


class Files:
    """Files below one place; everything is written whole or not at all.

    To a temporary name that is then renamed, or, in an object store, in one request.
    """

    def __init__(self, uri: str | Path) -> None:
        self.uri = str(uri)
        if not self.uri.strip():
            raise WrongInput("store", self.uri, "a folder or a URI")
        if "://" in self.uri:
            try:
                fs, self.root = pafs.FileSystem.from_uri(self.uri)
                self.fs = object_store.with_time_limits(fs)
                if not self.root:
                    raise OSError("no bucket")
            except (pa.ArrowException, OSError) as error:
                reason = _first_line(error)
                raise WrongInput("store", str(self), f"a folder or a URI ({reason})") from None
        else:
            self.fs, self.root = pafs.LocalFileSystem(), str(absolute("store", self.uri))
            self.uri = self.root  # workers start in folders of their own
            if any(len(os.fsencode(name)) > LONGEST_NAME for name in Path(self.root).parts):
                accepted = f"names of at most {LONGEST_NAME} bytes"
                raise WrongInput("store", str(uri), accepted)
            if Path(self.root).is_file():
                raise WrongInput("store", f"{uri}, a file", "a folder, or a path where one can be")
        self.local = isinstance(self.fs, pafs.LocalFileSystem)

    def __str__(self) -> str:
        """Without the access key that a URI may hold."""
        return (
            object_store.without_key(self.uri)
            if "://" in self.uri
            else _short_path(Path(self.root))
        )

    @property
    def name(self) -> str:
        """The name of the last folder."""
        return str(self.root).rstrip("/").rpartition("/")[2]

    def path(self, *names: str) -> str:
        return "/".join((self.root, *names))

    def address(self, *names: str) -> str:
        """The place to show to a person: a path, or a URI without key and endpoint."""
        if self.local:
            return self.path(*names)
        return "/".join((str(self).partition("?")[0].rstrip("/"), *names))

    def exists(self, *names: str) -> bool:
        return bool(self.fs.get_file_info(self.path(*names)).type != pafs.FileType.NotFound)

    def names(self, *folder: str) -> list[str]:
        """File and folder names directly below a folder, sorted; none if it does not exist."""
        return [name for name, _ in self.listing(*folder)]

    def listing(self, *folder: str) -> list[tuple[str, int]]:
        """Names and times of last change (ns) directly below a folder."""
        below = pafs.FileSelector(self.path(*folder), allow_not_found=True, recursive=False)
        files = [f for f in self.fs.get_file_info(below) if not f.base_name.startswith(".")]
        return sorted((f.base_name, f.mtime_ns or 0) for f in files)

    def read_bytes(self, *names: str) -> bytes:
        with self.fs.open_input_file(self.path(*names)) as file:
            return cast(bytes, file.read())

    def write_bytes(self, data: bytes, *names: str, lasting: bool = False) -> None:
        """Write a file; if `lasting`, it is flushed to the disk before it gets its name."""
        try:
            self._write_once(data, names, lasting)
        except FileNotFoundError:  # somebody removed the folder or the temporary file
            self._write_once(data, names, lasting)

    def _write_once(self, data: bytes, names: Sequence[str], lasting: bool) -> None:
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
        """Rename a file; a file that has the new name is replaced."""
        self.fs.move(self.path(*names), self.path(*others))

    def link_exclusively(
        self, names: Sequence[str], others: Sequence[str], lock: Sequence[str]
    ) -> bool:
        """Hard-link a file to a name; False if the name is taken. Of several at once one gets it.

        On file systems without hard links it is copied under the lock. Not for object stores:
        pyarrow cannot ask them for exclusive creation.
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
            with self.locked(*lock):  # who sees an empty file under this lock: its writer died
                return _created(final, content)
        return True

    @contextmanager
    def locked(self, *names: str) -> Iterator[bool]:
        """Hold an exclusive lock; yields False where there are no locks.

        The system releases the lock when this process ends, however it ends.
        """
        if not self.local:
            yield False
            return
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

    def remove_temporary(self, *folder: str, older_than: float = 0.0) -> None:
        """Remove the temporary files of killed writers directly below a folder."""
        below = pafs.FileSelector(self.path(*folder), allow_not_found=True, recursive=False)
        for file in self.fs.get_file_info(below):
            age = time.time() - (file.mtime_ns or 0) / 1e9
            if file.base_name.startswith(".") and file.extension == "tmp" and age >= older_than:
                self.fs.delete_file(file.path)

    def check_writable(self) -> None:
        """Write a small file and remove it; raises OSError where that is refused."""
        self.write_bytes(PROBE_CONTENT, PROBE)
        self.remove(PROBE)

    def create(self, folders: Iterable[Sequence[str]]) -> None:
        """Create the place, or raise if it cannot be written; remove temporary files in folders."""
        try:
            self.fs.create_dir(self.root, recursive=True)
            self.check_writable()
            for folder in folders:
                self.remove_temporary(*folder, older_than=ABANDONED_SECONDS)
        except OSError as error:
            if self.local:
                reason = os.strerror(error.errno) if error.errno else str(error)
                accepted = "a folder that can be written"
            else:
                reason, accepted = object_store.reason_of(error), object_store.ACCEPTED
            raise WrongInput("store", f"{self} ({reason})", accepted) from None

    def _temporary(self, final: str) -> str:
        if not self.local:
            return final
        folder, _, name = final.rpartition("/")
        Path(folder).mkdir(parents=True, exist_ok=True)
        return f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"

    @contextmanager
    def _whole(self, final: str, lasting: bool = False) -> Iterator[str]:
        """A temporary name to write to, renamed at the end; removed if writing fails."""
        target = self._temporary(final)
        try:
            yield target
            if target != final:
                if lasting:  # a file system may write the new name to the disk before the content
                    _flush(target)
                self.fs.move(target, final)
        except BaseException:
            if target != final:
                with suppress(OSError):
                    Path(target).unlink()
            raise


def _created(final: str, data: bytes) -> bool:
    """Create a file; False if it exists. Others may see it empty for a moment."""
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
    number = os.open(file, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _short_path(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
