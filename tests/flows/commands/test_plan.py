"""What `tolstoy plan` counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from flows.cli import main
from tests.flows.conftest import TINY, write_spec


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


def test_plan_and_run_say_what_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "cache"))
    (tmp_path / "My Photos").mkdir()
    for row in range(3):
        Image.new("RGB", (80, 70), (row, 9, 9)).save(tmp_path / "My Photos" / f"{row}.png")
    (tmp_path / "My Photos" / "notes.txt").write_text("no picture")
    spec = write_spec(tmp_path / "own.yaml", data=[{"folder": str(tmp_path / "My Photos")}])
    said = f"3 pictures, 3 channels, of {tmp_path}/My Photos (1 file ignored)"
    doubt = "tolstoy: warning: My-Photos: 3 pictures: results of fewer than 100 are mostly chance"
    measured = {"step": 0.1, "image": 0.01, "when": 0.0}
    monkeypatch.setattr(
        "flows.commands.plan._calibration", lambda names, _: dict.fromkeys(names, measured)
    )
    arguments = [str(spec), "--store", str(tmp_path / "store")]
    assert main(["plan", *arguments]) == 0
    out, err = capsys.readouterr()
    assert f"read         My-Photos: {said}" in out.splitlines() and doubt in err
    assert main(["plan", *arguments, "--json"]) == 0
    read = json.loads(capsys.readouterr().out)["read"]["My-Photos"]
    assert (read["pictures"], read["channels"], read["ignored"]) == (3, 3, 1)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.commands.run._run_flow", interrupted)
    assert main(["run", *arguments]) == 130
    lines = capsys.readouterr().err.splitlines()
    assert f"My-Photos: {said}" in lines and doubt in lines
