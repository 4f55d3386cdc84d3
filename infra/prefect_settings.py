"""Whether the user may have configured a Prefect server, without an import of Prefect.

Prefect knows for sure, but its import takes a second.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

VARIABLES = ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH")
SETTINGS = re.compile(r"prefect_(api_url|home|profile)|tool\.prefect", re.IGNORECASE)


def may_have_server() -> bool:
    """False only if nothing that Prefect reads names a server: neither the environment, nor a file
    in this folder, nor a profile."""
    if any(name.upper() in VARIABLES for name in os.environ) or Path("prefect.toml").exists():
        return True
    home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    files = (Path(".env"), Path("pyproject.toml"), home / "profiles.toml")
    return any(SETTINGS.search(_text(file)) for file in files)


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
