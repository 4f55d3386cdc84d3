"""What `make setup` and `make demo` install, and with what; pip and uv are replaced here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tree import ROOT

FAKE_PYTHON = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p .venv/bin .venv/lib && cp "$0" .venv/bin/python
elif [ "$1" = "-m" ]; then
  echo "$*" >> calls
fi
"""
FAKE_UV = """#!/bin/sh
echo "uv $*" >> calls
cat > read-by-uv
exit ${UV_FAILS:-0}
"""


def installed(folder: Path, target: str, uv: str | None) -> list[str]:
    """The calls of pip and uv that a target makes in a new folder."""
    for name in ("Makefile", "requirements.lock", "requirements-dev.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    tools = folder / "tools"
    tools.mkdir()
    for name, text in (("fake-python", FAKE_PYTHON), *([("uv", FAKE_UV)] if uv else [])):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "UV_FAILS": uv or "0"}
    command = ["make", f"PYTHON={tools}/fake-python", target]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    calls = (folder / "calls").read_text().splitlines()
    return [call for call in calls if "pip install" in call or call.startswith("uv")]


needs_no_uv = pytest.mark.skipif(
    any(os.access(f"{folder}/uv", os.X_OK) for folder in ("/usr/bin", "/bin")), reason="has uv"
)


@needs_no_uv
def test_pip_installs_all_where_there_is_no_uv(tmp_path: Path) -> None:
    locked, project = installed(tmp_path, ".venv/.runs", uv=None)
    assert locked.endswith("--requirement requirements.lock")
    assert project.endswith("-e .")


def test_uv_installs_all_but_torch_whose_build_it_does_not_know(tmp_path: Path) -> None:
    torch, uv, project = installed(tmp_path, ".venv/.runs", uv="0")
    assert torch.endswith("--constraint requirements.lock torch")
    assert "--no-deps" in uv
    expected = (ROOT / "requirements.lock").read_text().splitlines()
    lines = (tmp_path / "read-by-uv").read_text().splitlines()
    assert set(expected) - set(lines) == {line for line in expected if line.startswith("torch==")}
    assert project.endswith("-e .")


def test_pip_installs_all_if_uv_fails(tmp_path: Path) -> None:
    *_, uv, locked, project = installed(tmp_path, ".venv/.runs", uv="1")
    assert uv.startswith("uv")
    assert locked.endswith("--requirement requirements.lock")
    assert project.endswith("-e .")


@needs_no_uv
def test_developers_get_their_tools_as_well(tmp_path: Path) -> None:
    calls = installed(tmp_path, ".venv/.ready", uv=None)
    assert [call.rpartition(" ")[2] for call in calls] == [
        "requirements.lock",
        ".",
        "requirements-dev.lock",
    ]
