"""Downloads that resume after an interruption and are used only with the right checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import WrongInput

StepProgress = Callable[[str, float], None]  # called with what is done and the fraction done

CHUNK = 2**18
TIMEOUT_SECONDS = 30  # without a byte from the server


@dataclass(frozen=True)
class RemoteFile:
    """A file that the authors of a data set publish; `urls` are mirrors, tried in order."""

    name: str
    urls: tuple[str, ...]
    checksum: str  # "sha256:<hex>" or "md5:<hex>"; empty if none is known, then its reader checks
    size: int | None = None


class _NetworkError(Exception):
    """A download failed; the part that was received stays on the disk."""


def download(file: RemoteFile, folder: Path, progress: StepProgress) -> Path:
    """`folder/name` with the right checksum.

    It is written under the name `<name>.partial`, which stays when the network or this process
    fails, so that the next try requests only the rest. Only one process may do this at a time.
    """
    target = folder / file.name
    partial = folder / f"{file.name}.partial"
    if target.is_file():
        if has_checksum(target, file.checksum, progress):
            return target
        target.unlink()
    problems = []
    for url in file.urls:
        problem = _download_from(url, file, partial, progress)
        if problem is None:
            return partial.replace(target)
        problems.append(problem)
    raise WrongInput(
        f"download {', '.join(file.urls)}",
        "; ".join(problems),
        "the published file (run the same command again to continue the download),"
        " or a copy that you have: --from PATH",
    )


def has_checksum(path: Path, checksum: str, progress: StepProgress) -> bool:
    """Whether a file has the published checksum; always true if none is known."""
    if not checksum:
        return True
    kind, _, expected = checksum.partition(":")
    digest, size, done = hashlib.new(kind, usedforsecurity=False), path.stat().st_size, 0
    with path.open("rb") as opened:
        while chunk := opened.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress(f"checking {path.name.removesuffix('.partial')}", done / size)
    return digest.hexdigest() == expected


def _download_from(url: str, file: RemoteFile, partial: Path, progress: StepProgress) -> str | None:
    """Complete `partial` from one mirror; returns the problem, if any. A wrong file is removed."""
    try:
        resumed = _append(url, file, partial, progress)
    except _NetworkError as error:
        return str(error)
    if has_checksum(partial, file.checksum, progress):
        return None
    partial.unlink()
    if resumed:  # the part that was there before may be the wrong one
        return _download_from(url, file, partial, progress)
    return f"a wrong checksum (not {file.checksum})"


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
