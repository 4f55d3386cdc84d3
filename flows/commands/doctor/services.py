"""Prefect and Ray: which ones a run would use, and whether they answer."""

from __future__ import annotations

import os
import socket
from base64 import b64encode
from importlib.metadata import version
from pathlib import Path

from flows.commands.doctor.check import Check, Checks, safely
from infra.runtime import LOOPBACK_ONLY

ANSWER_SECONDS = 2.0


def of_services() -> Checks:
    yield from safely("prefect", _prefect())
    yield from safely("ray", _ray())
    yield from safely("loopback", _loopback())


def _prefect() -> Checks:
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    ours = version("prefect")
    home = Path(settings.home)
    there = next(place for place in (home, *home.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        yield Check("prefect", "fail", f"{there} cannot be written", "Set PREFECT_HOME")
        return
    if not settings.api.url:
        found = f"{ours}, embedded: each run starts an API of its own on the loopback interface"
        yield Check("prefect", "ok", found)
        return
    headers = {}
    if settings.api.auth_string:
        secret = settings.api.auth_string.get_secret_value()
        headers["Authorization"] = "Basic " + b64encode(secret.encode()).decode()
    elif settings.api.key:
        headers["Authorization"] = f"Bearer {settings.api.key.get_secret_value()}"
    yield _answers(settings.api.url, headers, ours)


def _answers(url: str, headers: dict[str, str], ours: str) -> Check:
    """Whether the API answers us, and in which version; /health would answer anybody."""
    import httpx

    place = f"{url.rstrip('/')}/admin/version"
    try:
        answer = httpx.get(place, headers=headers, timeout=ANSWER_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        advice = "Start that server, or unset PREFECT_API_URL to use an embedded one"
        return Check("prefect", "fail", f"{url} does not answer: {error}", advice)
    if answer.status_code in (401, 403):
        given = "what PREFECT_API_AUTH_STRING or PREFECT_API_KEY says" if headers else "us"
        advice = "Set PREFECT_API_AUTH_STRING to the server's USER:PASSWORD"
        return Check("prefect", "fail", f"{url} refuses {given} ({answer.status_code})", advice)
    try:
        theirs = str(answer.raise_for_status().json())
    except (httpx.HTTPError, ValueError):
        found = f"{url} answers {answer.status_code}, and not as Prefect does"
        return Check("prefect", "fail", found, "PREFECT_API_URL ends in /api, mostly")
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        advice = "Let the two have the same version"
        return Check("prefect", "warn", f"server {theirs} at {url}, here {ours}", advice)
    return Check("prefect", "ok", f"server {theirs} at {url}")


def _ray() -> Checks:
    found = f"{version('ray')}, embedded unless --ray names a cluster"
    if address := os.environ.get("RAY_ADDRESS"):
        advice = f"To use that cluster: tolstoy run SPEC --ray {address}"
        yield Check("ray", "warn", f"{found}; RAY_ADDRESS is set and not used", advice)
    else:
        yield Check("ray", "ok", found)
    mode = os.environ.get("RAY_AUTH_MODE")
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    token = "RAY_AUTH_TOKEN" if os.environ.get("RAY_AUTH_TOKEN") else ""
    token = token or (str(path) if path.is_file() else "")
    found = f"RAY_AUTH_MODE={mode}" if mode else "RAY_AUTH_MODE is not set"
    found += f", a token in {token}" if token else ", no token"
    if mode == "token" and not token:
        advice = "Make one: ray get-auth-token --generate; the whole cluster needs the same"
        yield Check("ray tokens", "warn", found, advice)
    else:
        yield Check("ray tokens", "ok", found)


def _loopback() -> Checks:
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
    except OSError as error:
        advice = "A run needs the loopback interface, if only to talk to itself"
        yield Check("loopback", "fail", f"127.0.0.1: {error.strerror}", advice)
        return
    name, local = LOOPBACK_ONLY
    if os.environ.get(name, local) != local:
        found = f"{name}={os.environ[name]}: an embedded Ray listens on every interface"
        yield Check("loopback", "warn", found, f"Unset {name}")
        return
    yield Check("loopback", "ok", "what a run starts listens on 127.0.0.1 only")
