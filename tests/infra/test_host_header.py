"""Which names a request may use for our servers, and what others read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from infra.host_header import OnlyAllowedHosts, is_allowed

NAMES = ["my.example", "head"]


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "localhost:4200", "LocalHost:4200", "localhost.", "127.0.0.1:4200"),
        *("127.0.0.1", "[::1]:4200", "[::1]", "10.0.0.7:4200", "my.example", "My.Example:80"),
        *("head:4200",),
    ],
)
def test_addresses_and_known_names_are_allowed(host: str) -> None:
    assert is_allowed(host, NAMES)


@pytest.mark.parametrize(
    "host",
    [
        *("", "evil.example", "evil.example:4200", "localhost.evil.example", "notlocalhost"),
        *("127.0.0.1.evil.example", "evil.example@127.0.0.1", "127.0.0.1:80@evil.example"),
        *(
            "x.my.example",
            "my.example.org",
            "my.example:port",
            "[evil]",
            "::1",
            "a b",
            "localhost/",
        ),
        *("http://localhost", "localhost,evil.example", "2130706433", "0x7f.1", "127.1"),
    ],
)
def test_other_names_are_refused(host: str) -> None:
    assert not is_allowed(host, NAMES)


def status(kind: str, *headers: tuple[str, str], method: str = "GET") -> object:
    """The status of the answer; 200 if the application was asked."""
    sent: list[dict[str, Any]] = []

    async def app(scope: object, receive: object, send: Any) -> None:
        sent.append({"status": 200})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers]
    called = OnlyAllowedHosts(app, NAMES)(
        {"type": kind, "headers": raw, "method": method}, None, send
    )
    asyncio.run(called)
    return sent[0]["status"]


def test_the_api_answers_those_who_call_it_by_its_name() -> None:
    assert status("http", ("host", "127.0.0.1:4200")) == 200
    assert status("http", ("host", "127.0.0.1:4200"), ("origin", "http://evil.example")) == 200
    assert status("http", ("host", "evil.example:4200")) == 403
    assert status("http", ("host", "127.0.0.1"), ("host", "evil.example")) == 403
    assert status("http") == 403
    assert status("lifespan") == 200, "it has no host"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_what_changes_something_is_sent_by_our_pages_only(method: str) -> None:
    ours = ("host", "127.0.0.1:4200")
    assert status("http", ours, method=method) == 200, "Prefect's clients are no pages"
    for page in ("http://127.0.0.1:4200", "https://my.example", "http://HEAD:4200"):
        assert status("http", ours, ("origin", page), method=method) == 200
    for page in ("http://localhost:5599", "http://127.0.0.1:4201", "http://evil.example", "null"):
        assert status("http", ours, ("origin", page), method=method) == 403
    proxied = ("host", "my.example")
    assert status("http", proxied, ("origin", "https://my.example"), method=method) == 200


def test_a_websocket_is_opened_by_pages_of_this_server_only() -> None:
    ours = ("host", "localhost:4200")
    assert status("websocket", ours) == 200, "Prefect's clients are no pages"
    assert status("websocket", ours, ("origin", "http://localhost:4200")) == 200
    for page in ("http://evil.example", "https://evil.example:4200", "null"):
        assert status("websocket", ours, ("origin", page)) == 403
    assert status("websocket", ("host", "evil.example")) == 403
