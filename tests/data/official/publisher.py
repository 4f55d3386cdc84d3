"""A web server on this machine that publishes tiny files, with the faults that servers have."""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from data.official.published import RemoteFile


@dataclass
class Publisher:
    """The published files by path; the other fields, which tests change, say what goes wrong."""

    files: dict[str, bytes] = field(default_factory=dict)
    knows_ranges: bool = True
    wrong_ranges: bool = False  # answers with all of the file, as if it were the rest
    breaks_after: int | None = None  # bytes, counted in the whole file
    says_length: bool = True
    stalls: threading.Event | None = None  # after the break; set to let the server go on
    waits: threading.Event | None = None  # before it sends anything; set to let it go on
    redirects: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # (path, Range)
    address: str = ""

    def remote(self, name: str, *paths: str, checksum: str = "", size: int | None = None):
        """The file `name`, at these paths of this server."""
        content = self.files.get(paths[0], b"")
        checksum = checksum or f"md5:{hashlib.md5(content).hexdigest()}"
        return RemoteFile(name, tuple(self.address + path for path in paths), checksum, size)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, publisher: Publisher, *arguments) -> None:
        self.publisher = publisher
        super().__init__(*arguments)

    def do_GET(self) -> None:
        own, asked = self.publisher, self.headers.get("Range")
        own.asked.append((self.path, asked))
        self.close_connection = True
        if target := own.redirects.get(self.path):
            self.send_response(302)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if (content := own.files.get(self.path)) is None:
            self.send_error(404)
            return
        start = 0
        if asked and own.knows_ranges:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
            start = 0 if own.wrong_ranges else start
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        if own.says_length:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if own.waits:
            own.waits.wait(30)
        sent = content[start : own.breaks_after]
        self.wfile.write(sent[:-99])
        if own.stalls:
            time.sleep(0.05)  # the last piece comes alone and is small, as from a slow network
        self.wfile.write(sent[-99:])
        if own.stalls:
            own.stalls.wait(30)

    def log_message(self, *_) -> None:
        pass


@contextmanager
def publisher() -> Iterator[Publisher]:
    own = Publisher()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, own))
    own.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield own
    finally:
        if own.stalls:
            own.stalls.set()
        server.shutdown()
        thread.join()
        server.server_close()
