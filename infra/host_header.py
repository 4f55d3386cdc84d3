"""The names by which our servers let themselves be called, against DNS rebinding.

A web page can make its own name lead to 127.0.0.1. For the browser our server is then part of that
page, which may read and send everything. The request still has the page's name as its Host.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from http import HTTPStatus
from typing import Any

LOCALHOST = "localhost"
NAME_AND_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/@\s]+)(:\d+)?", re.IGNORECASE)


def is_allowed(host: str, names: Collection[str]) -> bool:
    """Whether a request with this Host header may be answered.

    An address in numbers is: only a name can lead to one place now and to another one later.
    """
    match = NAME_AND_PORT.fullmatch(host)
    if match is None:
        return False
    name = match[1].strip("[]").removesuffix(".").lower()
    return name in (LOCALHOST, *names) or _is_address(name)


def refusal(host: str) -> str:
    """What a request reads that is not answered."""
    return (
        f"{host[:100]!r} is no name of this server. "
        "tolstoy serve --allow-host NAME adds one (docs/dashboard.md, Safety).\n"
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class OnlyAllowedHosts:
    """An ASGI application that passes on what is sent to an allowed name."""

    def __init__(self, app: Any, names: Collection[str]) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.responses import PlainTextResponse

        if scope["type"] in ("http", "websocket"):
            refused = [host for host in _hosts(scope) if not is_allowed(host, self.names)]
            if refused:
                answer = PlainTextResponse(refusal(refused[0]), HTTPStatus.FORBIDDEN)
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _hosts(scope: Any) -> list[str]:
    """The host that is called, and of a WebSocket, which any page may open, the calling page's."""
    headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
    called = [value for name, value in headers if name == b"host"] or [""]
    if scope["type"] == "http":
        return called
    return called + [value.partition("://")[2] for name, value in headers if name == b"origin"]
