"""This checkout as a whole: what is installed of it, and copies of it that a test may change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = [
    name
    for name in PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    if "." not in name
]
TINY = [  # changes that make the preset `smoke` run in seconds
    "data=[dsprites]",
    "seeds=2",
    "probe=32",
    "training.steps=20",
    "training.batch_size=8",
    "training.log_every=10",
    "metrics.points=64",
    "metrics.test_points=32",
    "metrics.group_size=4",
]


def copy_tree(target: Path) -> Path:
    """Copy to this folder what a wheel is built from."""
    ignore = shutil.ignore_patterns("__pycache__", "*.env")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, target / name, ignore=ignore)
    for name in ("pyproject.toml", PYPROJECT["project"]["readme"], "LICENSE"):
        shutil.copy(ROOT / name, target / name)
    return target


def python_in(tree: Path, folder: Path, *arguments: str) -> str:
    """What `python ARGUMENTS` prints, in this folder, with the packages of that tree."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tolstoy_in(tree: Path, folder: Path, *arguments: str) -> str:
    """What `tolstoy ARGUMENTS` prints, in this folder, with the packages of that tree."""
    return python_in(tree, folder, "-m", "flows.cli", *arguments)


def changes(*settings: str) -> list[str]:
    """The options that apply these changes to a preset."""
    return [word for setting in settings for word in ("--set", setting)]
