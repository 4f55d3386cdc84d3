"""By which names our servers may be called, and by which web pages.

A web page can make its own name lead to 127.0.0.1 (DNS rebinding). For the browser our server is
then part of that page, which may read and send everything. The request still has the page's name as
its Host.

Any page may also send a plain form to another server without being asked first, and open a
WebSocket there. The browser then names the page as the Origin.

Starlette's TrustedHostMiddleware does less: it has no rule for all addresses in numbers, and does
not read the Origin.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from http import HTTPStatus
from typing import Any

LOCALHOST = "localhost"
READING = ("GET", "HEAD", "OPTIONS")
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
    """The text of the answer to a request that is refused."""
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
    """An ASGI application that refuses a request with another name, or from another page."""

    def __init__(self, app: Any, names: Collection[str]) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.responses import PlainTextResponse

        if scope["type"] in ("http", "websocket") and (reason := self._refusal(scope)):
            answer = PlainTextResponse(reason, HTTPStatus.FORBIDDEN)
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Any) -> str:
        """Why a request is not answered; empty if it is."""
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"] or [""]
        for host in hosts:
            if not is_allowed(host, self.names):
                return refusal(host)
        if scope["type"] == "http" and scope.get("method") in READING:
            return ""  # what it reads, the browser keeps from another page
        for name, origin in headers:
            if name == b"origin" and not self._is_ours(origin, hosts):
                return f"{origin[:100]!r} is no page of this server (docs/dashboard.md, Safety).\n"
        return ""

    def _is_ours(self, origin: str, hosts: Collection[str]) -> bool:
        """Whether a page is of this server, by the name that was called or by another one of it."""
        place = origin.partition("://")[2].lower()
        match = NAME_AND_PORT.fullmatch(place)
        named = match is not None and match[1] in self.names
        return named or place in [host.lower() for host in hosts]
