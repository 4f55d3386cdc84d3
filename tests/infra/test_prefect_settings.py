"""Whether a Prefect server may be configured, compared with what Prefect itself says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ADDRESS = "http://127.0.0.1:4299/api"
PROFILES = f'active = "mine"\n[profiles.mine]\nPREFECT_API_URL = "{ADDRESS}"\n'
ASK = """
import sys
from infra.prefect_settings import may_have_server
ours = may_have_server()
assert "prefect" not in sys.modules
from prefect.settings import get_current_settings
print(ours, get_current_settings().api.url)
"""


def asked(folder: Path, **variables: str) -> list[str]:
    """What we say and what Prefect says, in this folder with these variables."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    environment = {**known, "HOME": str(folder / "home"), **variables}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("file", "content", "variables"),
    [
        ("", "", {"PREFECT_API_URL": ADDRESS}),
        ("", "", {"prefect_api_url": ADDRESS}),
        (".env", f"PREFECT_API_URL={ADDRESS}\n", {}),
        ("prefect.toml", f'[api]\nurl = "{ADDRESS}"\n', {}),
        ("pyproject.toml", f'[tool.prefect.api]\nurl = "{ADDRESS}"\n', {}),
        ("home/.prefect/profiles.toml", PROFILES, {}),
        ("elsewhere/profiles.toml", PROFILES, {"PREFECT_HOME": "elsewhere"}),
        ("mine.toml", PROFILES, {"PREFECT_PROFILES_PATH": "mine.toml"}),
        ("", "", {"PREFECT_PROFILE": "local"}),
    ],
)
def test_a_server_that_prefect_finds_is_never_overlooked(
    file: str, content: str, variables: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    if file:
        place = tmp_path / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    ours, url = asked(tmp_path, **variables)
    assert ours == "True"
    assert url == ADDRESS or variables.get("PREFECT_PROFILE"), url


def test_where_nothing_names_a_server_prefect_need_not_be_asked(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["prefect>=3.8"]\n')
    assert asked(tmp_path) == ["False", "None"]
