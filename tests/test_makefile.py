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
  case "$*" in */dev/stdin) cat > read-by-pip-$$; exit ${PIP_FAILS:-0};; esac
fi
"""
FAKE_UV = """#!/bin/sh
echo "uv $*" >> calls
cat > read-by-uv
exit ${UV_FAILS:-0}
"""


def installed(folder: Path, target: str, uv: str | None, pip: str = "0") -> list[str]:
    """The calls of pip and uv that a target makes in a new folder."""
    for name in ("Makefile", "requirements.lock", "requirements-dev.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    tools = folder / "tools"
    tools.mkdir()
    for name, text in (("fake-python", FAKE_PYTHON), *([("uv", FAKE_UV)] if uv else [])):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "UV_FAILS": uv or "0", "PIP_FAILS": pip}
    command = ["make", f"PYTHON={tools}/fake-python", target]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    calls = (folder / "calls").read_text().splitlines()
    return [call for call in calls if "pip install" in call or call.startswith("uv")]


def read_by_pip(folder: Path) -> list[str]:
    """The lines that all calls of pip got, sorted."""
    return sorted(line for file in folder.glob("read-by-pip-*") for line in lines_of(file))


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


needs_no_uv = pytest.mark.skipif(
    any(os.access(f"{folder}/uv", os.X_OK) for folder in ("/usr/bin", "/bin")), reason="has uv"
)


LOCKED = sorted(lines_of(ROOT / "requirements.lock"))
FROM_STDIN = "--no-deps --requirement /dev/stdin"
LAST = ["--constraint requirements.lock --no-build-isolation -e ."]


def options(calls: list[str]) -> list[str]:
    """What the calls of pip are told beside what all are told."""
    return [call.partition("--no-compile ")[2] for call in calls if not call.startswith("uv")]


@needs_no_uv
def test_two_pips_share_the_lines_where_there_is_no_uv(tmp_path: Path) -> None:
    calls = installed(tmp_path, ".venv/.runs", uv=None)
    assert options(calls) == [FROM_STDIN, FROM_STDIN, *LAST]
    parts = [len(lines_of(file)) for file in tmp_path.glob("read-by-pip-*")]
    assert len(parts) == 2 and max(parts) - min(parts) <= 1
    assert read_by_pip(tmp_path) == LOCKED


def test_uv_installs_all_but_torch_whose_build_it_does_not_know(tmp_path: Path) -> None:
    uv, *others = installed(tmp_path, ".venv/.runs", uv="0")
    assert uv.startswith("uv") and "--no-deps" in uv
    assert options(others) == LAST
    assert lines_of(tmp_path / "read-by-uv") == [
        line for line in lines_of(ROOT / "requirements.lock") if not line.startswith("torch==")
    ]


def test_pip_installs_all_if_uv_fails(tmp_path: Path) -> None:
    uv, *others = installed(tmp_path, ".venv/.runs", uv="1")
    assert uv.startswith("uv")
    assert options(others) == [FROM_STDIN, FROM_STDIN, *LAST]
    assert read_by_pip(tmp_path) == LOCKED


@needs_no_uv
def test_nothing_is_called_ready_if_a_pip_fails(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        installed(tmp_path, ".venv/.runs", uv=None, pip="1")
    assert not (tmp_path / ".venv" / ".runs").exists()


@needs_no_uv
def test_developers_get_their_tools_as_well(tmp_path: Path) -> None:
    calls = installed(tmp_path, ".venv/.ready", uv=None)
    assert options(calls) == [FROM_STDIN, FROM_STDIN, *LAST, FROM_STDIN, FROM_STDIN]
    tools = lines_of(ROOT / "requirements-dev.lock")
    assert read_by_pip(tmp_path) == sorted([*LOCKED, *tools])
