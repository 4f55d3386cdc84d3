"""Where Prefect's servers listen; what they do is tested where they are used."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from infra.errors import WrongInput
from infra.prefect_server import (
    api_of,
    check_free,
    is_loopback,
    must_answer,
    prefect_api,
    starting_prefect_api,
)
from tests.processes import all_end, descendants, wait_until


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(WrongInput, match=f"--port: found .*{port}"):
            check_free("127.0.0.1", port, "--port")
    check_free("127.0.0.1", port, "--port")


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid", "a..b", 70 * "a"])
def test_a_host_that_is_not_this_machine_is_refused(host: str) -> None:
    with pytest.raises(WrongInput, match="--host: found"):
        check_free(host, 0, "--port")


@pytest.mark.parametrize(
    ("host", "api", "loopback"),
    [
        ("127.0.0.1", "http://127.0.0.1:4200/api", True),
        ("127.0.0.2", "http://127.0.0.2:4200/api", True),
        ("localhost", "http://localhost:4200/api", True),
        ("::1", "http://[::1]:4200/api", True),
        ("0.0.0.0", "http://127.0.0.1:4200/api", False),
        ("::", "http://[::1]:4200/api", False),
        ("10.1.2.3", "http://10.1.2.3:4200/api", False),
        ("127.example.org", "http://127.example.org:4200/api", False),
    ],
)
def test_where_a_server_is_reached(host: str, api: str, loopback: bool) -> None:
    assert api_of(host, 4200) == api
    assert is_loopback(host) is loopback


class Refuses(BaseHTTPRequestHandler):
    """A server that answers only users with a password."""

    def do_GET(self) -> None:
        self.send_error(401)

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_does_not_answer_is_one_line() -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with HTTPServer(("127.0.0.1", 0), Refuses) as server:
        url = f"http://127.0.0.1:{server.server_port}/api"
        threading.Thread(target=server.handle_request, daemon=True).start()
        with temporary_settings({PREFECT_API_URL: url}), prefect_api():
            pass  # it answers; Prefect reports the rest
    with (
        temporary_settings({PREFECT_API_URL: url}),
        pytest.raises(WrongInput, match=f"PREFECT_API_URL: found {url} .*refused"),
        prefect_api(),
    ):
        pass


def test_a_server_for_which_nobody_waited_ends_all_the_same() -> None:
    before = _servers()  # of other tests
    with starting_prefect_api():
        started = _servers() - before
        assert started
    all_end(list(started))


def _servers() -> set[int]:
    return {pid for pid, name in descendants(os.getpid()) if "prefect_app" in name}


@pytest.mark.parametrize("url", ["garbage", "localhost:4200/api", "http://[", "http://a b/api"])
def test_what_is_no_address_is_one_line(url: str) -> None:
    with pytest.raises(WrongInput, match=f"PREFECT_API_URL: found {re.escape(url)} "):
        must_answer(url)


def test_a_server_that_is_still_starting_ends_with_a_killed_driver() -> None:
    script = "from infra.prefect_server import prefect_api\nwith prefect_api(): input()"
    driver = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)

    def servers() -> list[int]:
        return [pid for pid, name in descendants(driver.pid) if "uvicorn" in name]

    try:
        wait_until(servers)  # it takes seconds until it answers
        started = servers()
    finally:
        driver.kill()
        driver.communicate()
    all_end(started)
