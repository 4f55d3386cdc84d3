"""The server of reports serves the studies' reports and no other file of the machine."""

from __future__ import annotations

import base64
import http.client
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import pytest

from infra.report_server import ReportServer, serving
from tests.processes import wait_until

PAGE = "/mine/report/index.html"


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    """A study with a report, and files that must not be served."""
    folder = tmp_path / "studies"
    for name in ("mine/report/index.html", "mine/study.json", "mine/report/.hidden", "top.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"this is {name}")
    (folder / "mine/report/deeper").mkdir()
    (folder / "mine/report/deeper/x.html").write_text("x")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("secret")
    (folder / "mine/report/out").symlink_to(tmp_path / "secret" / "key")
    (folder / "linked").mkdir()
    (folder / "linked" / "report").symlink_to(tmp_path / "secret")
    return folder


def report_server(studies: Path, authentication: str | None = None) -> ReportServer:
    return ReportServer(studies, lambda: "the list: ü", ["my.example"], authentication)


@pytest.fixture
def port(studies: Path) -> Iterator[int]:
    with serving(report_server(studies), "127.0.0.1", 0) as number:
        yield number


@dataclass
class Answer:
    status: int
    text: str
    location: str


def answer(port: int, path: str, method: str = "GET", **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers)
    received = connection.getresponse()
    text = received.read().decode()
    connection.close()
    return Answer(received.status, text, received.headers.get("Location", ""))


def asked(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    received = answer(port, path, method, **headers)
    return received.status, received.text


def test_a_report_can_be_opened(port: int) -> None:
    assert asked(port, PAGE) == (200, "this is mine/report/index.html")
    assert asked(port, PAGE + "?again=1#part") == (200, "this is mine/report/index.html")
    assert asked(port, PAGE, "HEAD") == (200, "")
    assert asked(port, "/mine/report/deeper/x.html")[0] == 200, "a page of a question or a cell"


@pytest.mark.parametrize(
    "path",
    [
        *("/other", "/linked", "/mine/report", "/mine/report/", "/mine/study.json", "/top.html"),
        *("/mine/report/../study.json", "/mine/report/..%2fstudy.json", "/mine/report/.hidden"),
        *("/mine/report/deeper/not/x.html", "/mine/report/not-there", "/mine/report/out"),
        *("/linked/report/key", "/../secret/key", "/%2e%2e/secret/key", "//etc/passwd"),
        *("/mine/report/index.html/", "/mine/report/index.html%00", "/mine%2freport/index.html/x"),
    ],
)
def test_nothing_but_reports_can_be_opened(port: int, path: str) -> None:
    assert asked(port, path)[0] == 404


def test_the_first_page_lists_the_studies(port: int) -> None:
    assert asked(port, "/") == (200, "the list: ü")
    assert asked(port, "/", "HEAD") == (200, "")


@pytest.mark.parametrize("place", ["/mine", "/mine/"])
def test_the_name_of_a_study_leads_to_its_report(port: int, place: str) -> None:
    """Also behind a proxy that puts the server below another path."""
    received = answer(port, place)
    assert received.status == 302
    assert urljoin(f"https://h/x{place}", received.location) == f"https://h/x{PAGE}"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4201", "127.0.0.1.evil.example"])
def test_a_page_that_gives_its_own_name_to_the_server_reads_nothing(port: int, host: str) -> None:
    for path in ("/", "/mine", PAGE):
        status, text = asked(port, path, Host=host)
        assert status == 403
        assert "--allow-host" in text and "this is" not in text
    assert asked(port, PAGE, Host=f"my.example:{port}")[0] == 200


def test_a_browser_that_leaves_prints_nothing(
    studies: Path, port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    (studies / "mine/report/index.html").write_bytes(bytes(20_000_000))
    left = socket.create_connection(("127.0.0.1", port))
    left.sendall(f"GET {PAGE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    left.recv(1000)
    left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    left.close()  # with a reset
    wait_until(lambda: not any("process_request" in t.name for t in threading.enumerate()), 10)
    assert capfd.readouterr().err == ""


def test_nothing_can_be_written(port: int) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert asked(port, PAGE, method)[0] == 501


def test_a_report_needs_the_servers_password(studies: Path) -> None:
    good = base64.b64encode("me:päss".encode()).decode()
    bad = base64.b64encode(b"me:pass").decode()
    with serving(report_server(studies, "me:päss"), "127.0.0.1", 0) as port:
        assert asked(port, "/")[0] == 401
        assert asked(port, PAGE)[0] == 401
        assert asked(port, PAGE, "HEAD")[0] == 401
        assert asked(port, PAGE, Authorization=f"Basic {bad}")[0] == 401
        assert asked(port, PAGE, Authorization="Basic")[0] == 401
        assert asked(port, PAGE, Authorization=f"Basic {good}")[0] == 200


def test_a_folder_that_is_made_later_is_served(tmp_path: Path) -> None:
    with serving(report_server(tmp_path / "later"), "127.0.0.1", 0) as port:
        assert asked(port, PAGE)[0] == 404
        (tmp_path / "later/mine/report").mkdir(parents=True)
        (tmp_path / "later/mine/report/index.html").write_text("now")
        assert asked(port, PAGE) == (200, "now")


def test_ipv6_is_served_too(studies: Path) -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("no IPv6 on this machine")
    with serving(report_server(studies), "::1", 0) as port:
        connection = http.client.HTTPConnection("::1", port, timeout=10)
        connection.request("GET", PAGE)
        assert connection.getresponse().status == 200


def test_a_link_to_another_place_of_the_studies_serves_nothing(studies: Path, port: int) -> None:
    (studies / "up").mkdir()
    (studies / "up/report").symlink_to(studies / "mine")
    (studies / "mine/report/spec").symlink_to(studies / "mine/study.json")
    (studies / "same").symlink_to(studies / "mine")
    assert asked(port, "/up/report/study.json")[0] == 404
    assert asked(port, "/mine/report/spec")[0] == 404
    assert asked(port, "/same/report/index.html")[0] == 200, "another name of the study"


def test_a_name_that_no_file_can_have_is_not_found(port: int) -> None:
    assert asked(port, f"/mine/report/{'a' * 5000}")[0] == 404


def test_a_connection_without_a_request_ends(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.report_server._Reports.timeout", 0.2)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as silent:
        assert silent.recv(1) == b""
