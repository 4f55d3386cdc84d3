"""Downloads that resume where they broke off and are believed only with the right checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import WrongInput

Tell = Callable[[str, float], None]  # told what is being done and the fraction that is done

CHUNK = 2**18
SILENCE_SECONDS = 30  # a server that sends nothing for that long is given up


@dataclass(frozen=True)
class RemoteFile:
    """A file that the authors of a data set publish; `urls` are mirrors, tried in order."""

    name: str
    urls: tuple[str, ...]
    checksum: str  # "sha256:<hex>" or "md5:<hex>"; empty if none is known: its reader judges it
    size: int | None = None


class _BrokenOff(Exception):
    """What went wrong on the network; what came before stays on the disk."""


def download(file: RemoteFile, folder: Path, tell: Tell) -> Path:
    """`folder/name` with the right checksum.

    It grows under the name `<name>.partial`, which stays when the network or this process dies,
    so that the next try asks for the rest alone. Only one process may do this at a time.
    """
    target = folder / file.name
    partial = folder / f"{file.name}.partial"
    if target.is_file():
        if has_checksum(target, file.checksum, tell):
            return target
        target.unlink()
    problems = []
    for url in file.urls:
        problem = _download_from(url, file, partial, tell)
        if problem is None:
            return partial.replace(target)
        problems.append(problem)
    raise WrongInput(
        f"download {', '.join(file.urls)}",
        "; ".join(problems),
        "the published file (the next try goes on from what has come),"
        " or a copy that you have: --from PATH",
    )


def has_checksum(path: Path, checksum: str, tell: Tell) -> bool:
    """Whether the content of a file is the published one, as far as a checksum is known."""
    if not checksum:
        return True
    kind, _, expected = checksum.partition(":")
    digest, size, done = hashlib.new(kind, usedforsecurity=False), path.stat().st_size, 0
    with path.open("rb") as opened:
        while chunk := opened.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            tell(f"checking {path.name.removesuffix('.partial')}", done / size)
    return digest.hexdigest() == expected


def _download_from(url: str, file: RemoteFile, partial: Path, tell: Tell) -> str | None:
    """Complete `partial` from one mirror; else the problem. A wrong file is removed."""
    try:
        went_on = _append(url, file, partial, tell)
    except _BrokenOff as broken:
        return str(broken)
    if has_checksum(partial, file.checksum, tell):
        return None
    partial.unlink()
    if went_on:  # the wrong part may be the one that was there before
        return _download_from(url, file, partial, tell)
    return f"a wrong checksum (not {file.checksum})"


def _append(url: str, file: RemoteFile, partial: Path, tell: Tell) -> bool:
    """Ask for what is missing; whether the answer was put behind what was already there."""
    done = partial.stat().st_size if partial.exists() else 0
    if file.size is not None and done >= file.size:
        return True  # nothing is left to ask for: a process died before it compared the checksum
    with _network():
        response = _open(url, done)
    if response is None:
        return True
    with response:
        went_on: bool = response.status == 206
        done = done if went_on else 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else file.size
        if total is not None and file.size not in (None, total):
            raise _BrokenOff(f"a file of {total} bytes instead of {file.size}")
        with partial.open("ab" if went_on else "wb") as opened:
            for chunk in _chunks(response):
                opened.write(chunk)
                opened.flush()  # so that what came survives this process
                done += len(chunk)
                tell(f"downloading {file.name}", done / total if total else 0.0)
                if total is not None and done > total:
                    return went_on  # endless, perhaps; the checksum will not fit
    if total is not None and done < total:
        raise _BrokenOff(f"the connection ended after {done} of {total} bytes")
    return went_on


def _open(url: str, start: int) -> Any:
    """The answer to a request for all bytes from `start`; None if the server has no more.

    The opener knows nothing but http and https, so no redirection leads to a file or to FTP.
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
        return opener.open(web.Request(url, headers=headers), timeout=SILENCE_SECONDS)
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
    """Tells the network's errors from those of the disk, which are OSErrors too."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError

    try:
        yield
    except HTTPError as error:
        error.close()
        raise _BrokenOff(str(error)) from error
    except URLError as error:
        raise _BrokenOff(str(error.reason)) from error
    except (HTTPException, OSError) as error:
        raise _BrokenOff(f"{type(error).__name__}: {error}") from error
