"""How `tolstoy run` ends when it is told to."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from httpx import ConnectError
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.cli import main
from flows.commands import run
from infra.errors import WrongInput
from infra.store import Store
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


def test_a_sigterm_at_any_moment_is_as_good_as_a_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = made_up(tmp_path / "store")
    before = signal.getsignal(signal.SIGTERM)

    def flow(*_: object) -> list[str]:
        assert store.names("drivers")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        return []

    monkeypatch.setattr(run, "_flow", flow)
    assert run.run_study(study, store.uri, 1, None, set(), join=False, json=False) == 130
    assert store.names("drivers") == []
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.fixture
def prefect_breaks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """Has Prefect's engine fail, before the study came to its end or after it."""

    url = temporary_settings({PREFECT_API_URL: "http://127.0.0.1:1/api"})

    def break_it(ended: bool) -> None:
        def engine(*given: object) -> None:
            assert isinstance(given[1], Store), "and not its URI, which Prefect would keep"
            if ended:
                given[-1].troubles = ["one trouble"]  # type: ignore[attr-defined]
            raise RuntimeError("no API") from ConnectError("nobody\nthere")

        monkeypatch.setattr("flows.study.study_flow", engine)
        monkeypatch.setattr("infra.prefect_server.prefect_api", nullcontext)

    with url:
        yield break_it


def test_a_prefect_that_is_away_at_the_end_costs_nothing(
    tmp_path: Path, prefect_breaks: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    prefect_breaks(True)
    study, store = made_up(tmp_path / "store")
    assert run._flow(study, store, None, None, None) == ["one trouble"]
    assert "Prefect did not answer at the end" in capsys.readouterr().err


def test_a_prefect_that_goes_before_is_told_in_a_line(
    tmp_path: Path, prefect_breaks: Callable[[bool], None]
) -> None:
    prefect_breaks(False)
    study, store = made_up(tmp_path / "store")
    with pytest.raises(WrongInput, match=r"PREFECT_API_URL: found http://.* \(nobody\); accepted"):
        run._flow(study, store, None, None, None)


def test_what_was_lost_meanwhile_is_said_and_told_by_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store")
    monkeypatch.setattr(run, "_flow", lambda *_: [])
    models = sum(len(cell.models) for cell in study.cells())
    assert run.run_study(study, store.uri, 1, None, set(), join=False, json=False) == 1
    said = capsys.readouterr().out
    assert f"{models} models are left to train and 0 to score: the same command goes on" in said


def test_a_disk_that_is_full_at_the_start_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = made_up(tmp_path / "store")
    spec = tmp_path / "store" / "study.json"

    def full(self: object, data: bytes, *names: str, lasting: bool = False) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("infra.store.Store.write_bytes", full)
    assert main(["run", str(spec), "--store", store.uri]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith("tolstoy: store: found") and "No space left" in said[-1]
    assert "Traceback" not in "".join(said)
