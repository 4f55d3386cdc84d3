"""What `tolstoy plan` counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.cli import main
from tests.flows.conftest import TINY


def test_plan_counts_what_is_there_and_what_is_left(
    spec: Path, undisturbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["plan", str(spec), "--set", "seeds=3", "--store", str(undisturbed), "--json"]
    assert main(arguments) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["cells"], plan["models"], plan["model_steps"]) == (
        3,
        9,
        9 * TINY["training"]["steps"],
    )
    assert (plan["trained"], plan["left"], plan["scored"]) == (6, 3, 6)
    assert plan["core_hours_left"] > 0
