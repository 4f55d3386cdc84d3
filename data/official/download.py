"""Downloads that resume after an interruption and are used only with the right checksum.

A file has several places, which are tried in order. Where its newer copies may have other bytes
than the one that was first published, one without the checksum is used if its content is right.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import WrongInput

StepProgress = Callable[[str, float], None]  # called with what is done and the fraction done

CHUNK = 2**18
TIMEOUT_SECONDS = 30  # without a byte from the server
PLACE = ".place"  # ends the name of the file that says from where a download came


@dataclass(frozen=True)
class RemoteFile:
    """A file that the authors of a data set publish; `urls` are its places, tried in order.

    `check` reads a copy without the checksum and raises WrongInput if it has other content.
    """

    name: str
    urls: tuple[str, ...]
    checksum: str  # "sha256:<hex>" or "md5:<hex>"; empty if none is known, then its reader checks
    size: int | None = None
    check: Callable[[Path], None] | None = None

    @property
    def kind(self) -> str:
        """Of its checksum, and of that of a copy."""
        return self.checksum.partition(":")[0] or "sha256"


@dataclass(frozen=True)
class Copy:
    """A copy of a published file that was found good."""

    path: Path
    place: str  # its URL; or where the user has it
    checksum: str

    def facts(self, file: RemoteFile) -> dict[str, Any]:
        """Which file it was, for people."""
        return {
            "file": file.name,
            "place": self.place,
            "checksum": self.checksum,
            "published": self.checksum == file.checksum if file.checksum else None,
        }


class _NetworkError(Exception):
    """A download failed; the part that was received stays on the disk."""


def download(file: RemoteFile, folder: Path, progress: StepProgress, name: str = "NAME") -> Copy:
    """`folder/name`, of the data set `name`: with the right checksum, or content.

    It is written under the name `<name>.partial`, which stays when the network or this process
    fails, so that the next try requests only the rest. Only one process may do this at a time.
    """
    target, place = folder / file.name, folder / f"{file.name}{PLACE}"
    if target.is_file():
        checksum, problem = checked(target, file, progress)
        if not problem:
            known = place.read_text() if place.is_file() else "a download"
            return Copy(target, known, checksum)
        target.unlink()
    problems = []
    for number, url in enumerate(file.urls):
        # parts of copies whose bytes differ must not be put together
        of_place = f".{number}" if file.check and number else ""
        partial = folder / f"{file.name}{of_place}.partial"
        checksum, problem = _download_from(url, file, partial, progress)
        if not problem:
            place.write_text(url)
            return Copy(partial.replace(target), url, checksum)
        problems.append(f"{url}: {problem}")
    by_hand = f"{file.name} ({file.checksum})" if file.checksum else file.name
    raise WrongInput(
        f"download {file.name}",
        "; ".join(problems),
        "the published file at one of its places (run the same command again to continue the"
        f" download); or bring it by hand: get {by_hand} from wherever you can, then"
        f" tolstoy data fetch {name} --from PATH",
    )


def remains(file: RemoteFile, folder: Path) -> list[Path]:
    """What downloads of a file have left in their folder."""
    name = re.compile(rf"{re.escape(file.name)}((\.\d+)?\.partial|{re.escape(PLACE)})?")
    return sorted(path for path in folder.glob("*") if name.fullmatch(path.name))


def checked(path: Path, file: RemoteFile, progress: StepProgress) -> tuple[str, str]:
    """The checksum of a copy, and why it cannot be used; empty if it can."""
    checksum = checksum_of(path, file.kind, progress)
    if not file.checksum or checksum == file.checksum:  # without one its reader judges
        return checksum, ""
    problem = f"a wrong checksum (not {file.checksum})"
    if file.check:
        progress(f"comparing {file.name}", 0.0)
        try:
            file.check(path)
        except WrongInput as error:
            return checksum, f"{problem} and other content ({error.found})"
        return checksum, ""
    return checksum, problem


def checksum_of(path: Path, kind: str, progress: StepProgress) -> str:
    digest, size, done = hashlib.new(kind, usedforsecurity=False), path.stat().st_size, 0
    with path.open("rb") as opened:
        while chunk := opened.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress(f"checking {path.name.removesuffix('.partial')}", done / size)
    return f"{kind}:{digest.hexdigest()}"


def _download_from(
    url: str, file: RemoteFile, partial: Path, progress: StepProgress
) -> tuple[str, str]:
    """Complete `partial` from one place; its checksum, and the problem, if any. A wrong file is
    removed."""
    try:
        resumed = _append(url, file, partial, progress)
    except _NetworkError as error:
        return "", str(error)
    checksum, problem = checked(partial, file, progress)
    if not problem:
        return checksum, ""
    partial.unlink()
    if resumed:  # the part that was there before may be the wrong one
        return _download_from(url, file, partial, progress)
    return checksum, problem


def _append(url: str, file: RemoteFile, partial: Path, progress: StepProgress) -> bool:
    """Request what is missing; returns whether it was appended to a part that was there before."""
    done = partial.stat().st_size if partial.exists() else 0
    if file.size is not None and done >= file.size:
        return True  # it is complete: a process died before it compared the checksum
    with _network():
        response = _open(url, done)
    if response is None:
        return True
    with response:
        resumed: bool = response.status == 206
        done = done if resumed else 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else file.size
        if total is not None and file.size not in (None, total):
            raise _NetworkError(f"a file of {total} bytes instead of {file.size}")
        with partial.open("ab" if resumed else "wb") as opened:
            for chunk in _chunks(response):
                opened.write(chunk)
                opened.flush()  # so that it stays if this process is killed
                done += len(chunk)
                progress(f"downloading {file.name}", done / total if total else 0.0)
                if total is not None and done > total:
                    return resumed  # too long, perhaps endless: the checksum will be wrong
    if total is not None and done < total:
        raise _NetworkError(f"the connection ended after {done} of {total} bytes")
    return resumed


def _open(url: str, start: int) -> Any:
    """The response to a request for all bytes from `start`; None if the server has no more.

    The opener supports only http and https, so that no redirection leads to a file or to FTP.
    """
    import urllib.error
    import urllib.request as web

    opener = web.OpenerDirector()
    for handler in (
        web.ProxyHandler,
        web.HTTPHandler,
        web.HTTPSHandler,
        web.HTTPDefaultErrorHandler,
        web.HTTPRedirectHandler,
        web.HTTPErrorProcessor,
        web.UnknownHandler,
    ):
        opener.add_handler(handler())
    headers = {"User-Agent": "tolstoy", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        return opener.open(web.Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:
            return None
        raise


def _chunks(response: Any) -> Iterator[bytes]:
    while True:
        with _network():
            chunk = response.read1(CHUNK)
        if not chunk:
            return
        yield chunk


@contextmanager
def _network() -> Iterator[None]:
    """Marks errors of the network, as those of the disk are OSErrors, too."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError

    try:
        yield
    except HTTPError as error:
        error.close()
        raise _NetworkError(str(error)) from error
    except URLError as error:
        raise _NetworkError(str(error.reason)) from error
    except (HTTPException, OSError) as error:
        raise _NetworkError(f"{type(error).__name__}: {error}") from error
