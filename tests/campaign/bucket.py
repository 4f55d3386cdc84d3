"""An S3 server, and in front of it a proxy that answers as object stores do on their bad days."""

from __future__ import annotations

import http.client
import logging
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.infra.s3_server import BUCKET, ask

REFUSED, SILENT, HALF, LATE = "503", "silent", "half", "late"
BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
LONGEST_SILENCE = 60.0  # clients give up earlier
DROPPED = {"connection", "transfer-encoding", "expect", "keep-alive", "content-length"}


class Bucket:
    """`bad_day` is what the proxy does at the moment; empty when all is well."""

    def __init__(self, host: str, late_seconds: Callable[[], float]) -> None:
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.server.start()
        self.place = "{}:{}".format(*self.server.get_host_and_port())
        ask(f"http://{self.place}/{BUCKET}", "PUT")
        self.bad_day, self.late_seconds = "", late_seconds
        self.spoilt = 0  # answers
        self.proxy = _Proxy((host, 0), _handler(self))
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()

    def uri(self, name: str, through_proxy: bool = True) -> str:
        place = self.place
        if through_proxy:
            place = f"{self.proxy.server_address[0]!s}:{self.proxy.server_port}"
        endpoint = f"scheme=http&endpoint_override={place}&region=us-east-1"
        return f"s3://an-id:a-secret@{BUCKET}/{name}?{endpoint}"

    def stop(self) -> None:
        self.bad_day = ""
        self.proxy.shutdown()
        self.server.stop()


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients are killed and give up here: that they are gone is not worth a traceback."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def _handler(bucket: Bucket) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body, bad_day = self._body(), bucket.bad_day
            if bad_day == REFUSED:
                bucket.spoilt += 1
                self._answer(503, [("Content-Type", "application/xml")], BUSY, len(BUSY))
                return
            status, headers, content = self._ask(body)
            bucket.spoilt += bad_day in (SILENT, LATE) or (bad_day == HALF and bool(content))
            if bad_day == SILENT:  # what it was asked is done, and nobody learns of it
                until = time.monotonic() + LONGEST_SILENCE
                while bucket.bad_day == SILENT and time.monotonic() < until:
                    time.sleep(0.1)
                self.close_connection = True
                return
            if bad_day == LATE:
                time.sleep(bucket.late_seconds())
            length = len(content)
            if self.command == "HEAD":
                length = int(dict(headers).get("Content-Length", 0))
            if bad_day == HALF and content:
                self.close_connection = True
                content = content[: length // 2]
            self._answer(status, headers, content, length)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

        def _body(self) -> bytes:
            if "chunked" in self.headers.get("Transfer-Encoding", ""):
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                while self.rfile.readline().strip():  # trailers
                    pass
                return b"".join(parts)
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            kept = {n: v for n, v in self.headers.items() if n.lower() not in DROPPED}
            connection = http.client.HTTPConnection(bucket.place, timeout=60)
            connection.request(self.command, self.path, body, kept)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            return answer.status, answer.getheaders(), content

        def _answer(
            self, status: int, headers: list[tuple[str, str]], content: bytes, length: int
        ) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in DROPPED:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(length))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
