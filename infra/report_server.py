"""Reports over HTTP, read-only: browsers do not follow a link from a web page to a file.

The first page lists the studies.
"""

from __future__ import annotations

import base64
import hmac
import re
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from infra.host_header import is_allowed, refusal

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
REPORT = re.compile(rf"/{NAME}/report/({NAME}/)?{NAME}")
STUDY = re.compile(rf"/({NAME})(/?)")
PAGE = "report/index.html"
REALM = 'Basic realm="Tolstoy", charset="UTF-8"'


@dataclass(frozen=True)
class ReportServer:
    """What is served, and to whom."""

    studies: Path
    list_studies: Callable[[], str]  # makes the first page
    names: Collection[str] = ()  # by which browsers may call this server
    authentication: str | None = None  # user:password

    def file(self, path: str) -> Path | None:
        """A file of `<studies>/<name>/report/`; no other is served, also not by a link to it."""
        if not REPORT.fullmatch(path):
            return None
        try:
            place, studies = (self.studies / path.lstrip("/")).resolve(), self.studies.resolve()
            if not place.is_relative_to(studies) or not place.is_file():
                return None
        except OSError:  # a name that is too long, or a folder that may not be read
            return None
        real_path = f"/{place.relative_to(studies).as_posix()}"
        return place if REPORT.fullmatch(real_path) else None


class _Reports(SimpleHTTPRequestHandler):
    timeout = 60.0  # seconds that a connection may wait for a request: each has a thread

    def __init__(self, *request: Any, reports: ReportServer) -> None:
        self.reports = reports
        super().__init__(*request)

    def send_head(self) -> Any:
        """What is asked for, or an error."""
        host = self.headers.get("Host", "")
        if not is_allowed(host, self.reports.names):
            self.send_error(HTTPStatus.FORBIDDEN, explain=refusal(host))
            return None
        if not self._is_authorized():
            self._send(HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": REALM})
            return None
        path = unquote(urlsplit(self.path).path)
        if path == "/":
            page = self.reports.list_studies().encode()
            self._send(HTTPStatus.OK, {"Content-Type": "text/html; charset=utf-8"}, len(page))
            return BytesIO(page)
        if (study := STUDY.fullmatch(path)) and self.reports.file(f"/{study[1]}/{PAGE}"):
            place = PAGE if study[2] else f"{study[1]}/{PAGE}"
            self._send(HTTPStatus.FOUND, {"Location": place})
            return None
        if self.reports.file(path) is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def translate_path(self, path: str) -> str:
        return str(self.reports.file(unquote(urlsplit(path).path)))

    def _send(self, status: HTTPStatus, headers: dict[str, str], length: int = 0) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()

    def _is_authorized(self) -> bool:
        if not self.reports.authentication:
            return True
        expected = b"Basic " + base64.b64encode(self.reports.authentication.encode())
        return hmac.compare_digest(self.headers.get("Authorization", "").encode(), expected)

    def end_headers(self) -> None:
        """No caching: a new report has the same name."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser may leave while a page loads."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _OverIPv6(_Server):
    address_family = socket.AF_INET6


@contextmanager
def serving(reports: ReportServer, host: str, port: int) -> Iterator[int]:
    """Serve the reports below a folder of studies while the block runs; yields the port."""
    kind = _OverIPv6 if ":" in host else _Server
    with kind((host, port), partial(_Reports, reports=reports)) as server:
        serve = partial(server.serve_forever, poll_interval=0.1)
        threading.Thread(target=serve, name="reports", daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
