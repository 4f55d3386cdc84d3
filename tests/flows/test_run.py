"""How `tolstoy run` ends when it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows import run
from infra.workers import Stopped
from tests.flows.trained import made_up


@pytest.mark.parametrize("told", [KeyboardInterrupt(), SystemExit(15), Stopped()])
def test_a_run_that_is_told_to_end_says_what_is_saved(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    told: BaseException,
) -> None:
    study, store = made_up(tmp_path / "store")

    def flow(*_: object) -> list[str]:
        raise told

    monkeypatch.setattr(run, "_flow", flow)
    assert run.run_study(study, store.uri, 1, None, set(), join=False, json=False) == 130
    assert "The same command goes on" in capsys.readouterr().err
    assert store.names("drivers") == []
