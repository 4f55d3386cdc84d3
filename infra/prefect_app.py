"""What uvicorn runs: Prefect's server, for those who call it by an allowed name."""

from __future__ import annotations

import os
from typing import Any

from infra.host_header import OnlyAllowedHosts

ALLOWED_NAMES = "TOLSTOY_ALLOWED_HOSTS"  # separated by commas


def create_app() -> Any:
    from prefect.server.api.server import create_app as prefects_app

    names = os.environ.get(ALLOWED_NAMES, "")
    return OnlyAllowedHosts(prefects_app(), [name for name in names.split(",") if name])
