"""Raw requests to the server of reports, over a socket on 127.0.0.1."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st

from infra.report_server import ReportServer, serving
from tests.fuzz.cases import IN_TWO_SIZES, run
from tests.fuzz.mutations import edited, edits

SECRET = b"this is not for you"
REPORT = b"this is the report"
PAGE = "/mine/report/index.html"
WAIT = 5.0  # seconds for an answer
MOST_ANSWER = 100_000  # bytes
METHODS = [
    "GET",
    "GET",
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "get",
    "",
    "\x00",
]
PARTS = ["mine", "report", "index.html", "..", ".", "", "%2e%2e", "%2e", "..%2f", "%00", "secret"]
PARTS += ["study.json", "linked", "out", "~root", "etc", "passwd", "a" * 5000, "%ff", "%", "\\..\\"]
PARTS += [
    "mine%2freport%2findex.html",
    "..;",
    "?",
    "#",
    "é",
    "//",
    "%252e%252e",
    "http://127.0.0.1",
]
HOSTS = ["127.0.0.1", "localhost", "localhost", "evil.example", "", "[::1", "\xff", "a" * 300]
HEADERS = ["Range: bytes=0-", "Range: bytes=99999999999999999999-0", "Range: " + "x" * 70000]
HEADERS += [
    "If-Modified-Since: Fri, 99 Nov 99999 99:99:99 GMT",
    "If-Modified-Since: \xff",
    "X" * 999,
]
HEADERS += [
    "If-Modified-Since: Mon, 01 Jan 0001 00:00:00 -2359",
    "Content-Length: -1",
    ": x",
    "Host: e",
]
HEADERS += ["Authorization: Basic \xff", "Transfer-Encoding: chunked", "Expect: 100-continue", " x"]
HEADERS += ["Connection: keep-alive", "Authorization: Basic", "\x1b[31m: 1", *["X: 1"] * 3]
VERSIONS = ["HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP/1", "HTTP/1." + "9" * 5000, "", "http/1.1"]


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    """A report, and secrets beside it, above it and behind links."""
    folder = tmp_path / "studies"
    (folder / "mine/report").mkdir(parents=True)
    (folder / "mine/report/index.html").write_bytes(REPORT)
    for place in ("mine/study.json", "mine/report/.hidden", "secret", "../secret", "../../secret"):
        (folder / place).write_bytes(SECRET)
    (folder / "mine/report/out").symlink_to(tmp_path / "secret")
    (folder / "linked").mkdir()
    (folder / "linked/report").symlink_to(folder)
    return folder


@pytest.fixture
def port(studies: Path) -> Iterator[int]:
    with serving(ReportServer(studies, lambda: "the list"), "127.0.0.1", 0) as number:
        yield number


def answer(port: int, request: bytes) -> bytes:
    """All that the server says; it must end, or wait for the rest of a request."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as connection:
        received = b""
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while (part := connection.recv(65536)) and len(received) < MOST_ANSWER:
                received += part
        except TimeoutError:
            raise
        except OSError:  # it may close before it has read all
            pass
        return received


def check(port: int, request: bytes, printed: pytest.CaptureFixture[str]) -> None:
    received = answer(port, request)
    assert SECRET not in received and b"root:" not in received, received[:500]
    assert b"Traceback" not in received and b'File "' not in received
    assert len(received) < MOST_ANSWER
    out, err = printed.readouterr()
    assert not out and not err, err


def still_answers(port: int) -> None:
    assert REPORT in answer(port, f"GET {PAGE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


@IN_TWO_SIZES
def test_hostile_requests(cases: int, port: int, capfd: pytest.CaptureFixture[str]) -> None:
    def one(method: str, parts: list[str], version: str, host: str, headers: list[str]) -> None:
        path = "/" + "/".join(parts)
        lines = [f"{method} {path} {version}", f"Host: {host}", *headers, "", ""]
        check(port, "\r\n".join(lines).encode("latin-1"), capfd)

    run(
        cases,
        one,
        method=st.sampled_from(METHODS),
        parts=st.lists(st.sampled_from(PARTS), max_size=6),
        version=st.sampled_from(["HTTP/1.1", "HTTP/1.1", *VERSIONS]),
        host=st.sampled_from(HOSTS),
        headers=st.lists(st.sampled_from(HEADERS), max_size=4),
    )
    still_answers(port)


@IN_TWO_SIZES
def test_requests_with_faults(cases: int, port: int, capfd: pytest.CaptureFixture[str]) -> None:
    sound = f"GET {PAGE} HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-1\r\n\r\n".encode()

    def one(changes: list[tuple[str, float, float, bytes]]) -> None:
        check(port, edited(sound, changes), capfd)

    run(cases, one, changes=edits())
    still_answers(port)
