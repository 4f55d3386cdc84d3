"""Reports over HTTP, read-only: browsers do not follow a link from a web page to a file."""

from __future__ import annotations

import base64
import hmac
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
REPORT = re.compile(rf"/{NAME}/report/{NAME}")


class _Reports(SimpleHTTPRequestHandler):
    """Only files of `<studies>/<name>/report/`, for users who send user:password."""

    def __init__(self, *request: Any, studies: Path, authentication: str | None) -> None:
        self.studies = studies
        self.authentication = authentication
        super().__init__(*request)

    def send_head(self) -> Any:
        """The file, or an error."""
        if not self._is_authorized():
            self.send_response(HTTPStatus.UNAUTHORIZED)
            self.send_header("WWW-Authenticate", 'Basic realm="Tolstoy", charset="UTF-8"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        if self._file() is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def translate_path(self, path: str) -> str:
        return str(self._file())

    def _file(self) -> Path | None:
        path = unquote(urlsplit(self.path).path)
        if not REPORT.fullmatch(path):
            return None
        place = (self.studies / path.lstrip("/")).resolve()
        inside = place.is_relative_to(self.studies.resolve())
        return place if inside and place.is_file() else None

    def _is_authorized(self) -> bool:
        if not self.authentication:
            return True
        expected = b"Basic " + base64.b64encode(self.authentication.encode())
        return hmac.compare_digest(self.headers.get("Authorization", "").encode(), expected)

    def end_headers(self) -> None:
        """No caching: a new report has the same name."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _OverIPv6(ThreadingHTTPServer):
    address_family = socket.AF_INET6


@contextmanager
def reports(studies: str, host: str, port: int, authentication: str | None = None) -> Iterator[int]:
    """Serve the reports below a folder of studies while the block runs; yields the port."""
    handler = partial(_Reports, studies=Path(studies).absolute(), authentication=authentication)
    kind = _OverIPv6 if ":" in host else ThreadingHTTPServer
    with kind((host, port), handler) as server:
        serve = partial(server.serve_forever, poll_interval=0.1)
        threading.Thread(target=serve, name="reports", daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
