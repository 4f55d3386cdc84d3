"""The server of reports serves the studies' reports and no other file of the machine."""

from __future__ import annotations

import base64
import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.report_server import reports

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


@pytest.fixture
def port(studies: Path) -> Iterator[int]:
    with reports(str(studies), "127.0.0.1", 0) as number:
        yield number


def asked(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_a_report_can_be_opened(port: int) -> None:
    assert asked(port, PAGE) == (200, "this is mine/report/index.html")
    assert asked(port, PAGE + "?again=1#part") == (200, "this is mine/report/index.html")
    assert asked(port, PAGE, "HEAD") == (200, "")


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/mine", "/mine/", "/mine/report", "/mine/report/", "/mine/study.json", "/top.html"),
        *("/mine/report/../study.json", "/mine/report/..%2fstudy.json", "/mine/report/.hidden"),
        *("/mine/report/deeper/x.html", "/mine/report/not-there", "/mine/report/out"),
        *("/linked/report/key", "/../secret/key", "/%2e%2e/secret/key", "//etc/passwd"),
        *("/mine/report/index.html/", "/mine/report/index.html%00", "/mine%2freport/index.html/x"),
    ],
)
def test_nothing_but_reports_can_be_opened(port: int, path: str) -> None:
    assert asked(port, path)[0] == 404


def test_nothing_can_be_written(port: int) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert asked(port, PAGE, method)[0] == 501


def test_a_report_needs_the_servers_password(studies: Path) -> None:
    good = base64.b64encode("me:päss".encode()).decode()
    bad = base64.b64encode(b"me:pass").decode()
    with reports(str(studies), "127.0.0.1", 0, "me:päss") as port:
        assert asked(port, PAGE)[0] == 401
        assert asked(port, PAGE, "HEAD")[0] == 401
        assert asked(port, PAGE, Authorization=f"Basic {bad}")[0] == 401
        assert asked(port, PAGE, Authorization="Basic")[0] == 401
        assert asked(port, PAGE, Authorization=f"Basic {good}")[0] == 200


def test_a_folder_that_is_made_later_is_served(tmp_path: Path) -> None:
    with reports(str(tmp_path / "later"), "127.0.0.1", 0) as port:
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
    with reports(str(studies), "::1", 0) as port:
        connection = http.client.HTTPConnection("::1", port, timeout=10)
        connection.request("GET", PAGE)
        assert connection.getresponse().status == 200
