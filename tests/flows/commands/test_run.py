"""How `tolstoy run` ends when it is told to."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from httpx import ConnectError
from prefect.exceptions import CancelledRun
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.cli import main
from flows.commands import run
from flows.open_study import OpenStudy
from flows.study import RunResult
from infra.errors import RUN_AGAIN, WrongInput
from infra.runtime import cores
from infra.store import Store
from infra.workers import Stopped
from tasks.model_row import write_row
from tasks.study.model import DAMAGED, FAILED
from tasks.study.reading import read_study
from tasks.study.spec import Study
from tests.flows.conftest import contents
from tests.flows.trained import compared, made_up, models_of, train
from tests.infra.ray_head import ray_head
from tests.timelines import check_timeline

Flow = Callable[..., None]


@pytest.fixture
def with_flow(monkeypatch: pytest.MonkeyPatch) -> Callable[[Flow], None]:
    """Puts a function in the place of the Prefect flow; no Prefect API is started."""

    def use(flow: Flow) -> None:
        monkeypatch.setattr("flows.study.study_flow", flow)
        api, workers = nullcontext(lambda: None), SimpleNamespace(close=lambda: None)
        monkeypatch.setattr("flows.commands.run.starting_prefect_api", lambda: api)
        monkeypatch.setattr("flows.commands.run.StartedWorkers", lambda *_: workers)

    return use


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(15), Stopped()])
def test_an_interrupted_run_says_what_is_saved(
    tmp_path: Path,
    with_flow: Callable[[Flow], None],
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
) -> None:
    study, store = made_up(tmp_path / "store")

    def interrupted(*_: object) -> None:
        raise error

    with_flow(interrupted)
    assert run.run_study(study, store.uri) == 130
    assert RUN_AGAIN in capsys.readouterr().err
    assert store.names("drivers") == []


def test_an_interrupted_run_writes_its_timeline(
    tmp_path: Path, with_flow: Callable[[Flow], None]
) -> None:
    _, store = made_up(tmp_path / "store")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with_flow(interrupted)
    file = tmp_path / "timeline.json"
    place = f"{store.uri}/study.json"
    assert main(["run", place, "--store", store.uri, "--timeline", str(file)]) == 130
    assert [name for name, _ in check_timeline(file)["driver"]][:3] == [
        "imports",
        "data sources",
        "survey",
    ]


def test_a_run_that_prefect_has_as_cancelled_was_interrupted(
    tmp_path: Path, with_flow: Callable[[Flow], None], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store")

    def cancelled(*arguments: Any) -> None:
        arguments[-2].interrupted = True
        raise CancelledRun("Interrupted.")

    with_flow(cancelled)
    assert run.run_study(study, store.uri) == 130
    assert RUN_AGAIN in capsys.readouterr().err


def test_a_sigterm_at_any_moment_ends_a_run_like_ctrl_c(
    tmp_path: Path, with_flow: Callable[[Flow], None]
) -> None:
    study, store = made_up(tmp_path / "store")
    before = signal.getsignal(signal.SIGTERM)

    def terminated(*_: object) -> None:
        assert store.names("drivers")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    with_flow(terminated)
    assert run.run_study(study, store.uri) == 130
    assert store.names("drivers") == []
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.fixture
def prefect_breaks(with_flow: Callable[[Flow], None]) -> Iterator[Callable[[bool], None]]:
    """Make Prefect's engine fail, before the end of the study or after it."""

    def break_it(ended: bool) -> None:
        def engine(
            study: Study,
            opened: OpenStudy,
            ray: object,
            workers: object,
            result: RunResult,
            started: object,
        ) -> None:
            assert isinstance(opened.store, Store), "and not its URI, which Prefect would store"
            result.ended = ended
            result.troubles = ("one trouble",)
            raise RuntimeError("no API") from ConnectError("nobody\nthere")

        with_flow(engine)

    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:1/api"}):
        yield break_it


def test_a_prefect_that_does_not_answer_at_the_end_fails_no_run(
    tmp_path: Path, prefect_breaks: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    prefect_breaks(True)
    study, store = made_up(tmp_path / "store")
    assert run.run_study(study, store.uri) == 1
    out, err = capsys.readouterr()
    assert "Prefect did not answer at the end" in err
    assert "one trouble" in out


def test_a_prefect_that_does_not_answer_earlier_is_an_error_in_one_line(
    tmp_path: Path, prefect_breaks: Callable[[bool], None]
) -> None:
    prefect_breaks(False)
    study, store = made_up(tmp_path / "store")
    with pytest.raises(WrongInput, match=r"PREFECT_API_URL: found http://.* \(nobody\); accepted"):
        run.run_study(study, store.uri)


@pytest.mark.parametrize("url", ["garbage", "http://127.0.0.1:1/api"])
def test_a_prefect_server_that_is_wrong_is_found_before_anything_is_written(
    url: str, tmp_path: Path, spec: Path
) -> None:
    store = tmp_path / "store"
    refused = pytest.raises(WrongInput, match=f"PREFECT_API_URL: found {url} ")
    with temporary_settings({PREFECT_API_URL: url}), refused:
        run.run_study(read_study(str(spec), ()), str(store))
    assert not store.exists()


def test_failed_models_stay_in_the_store_if_the_prefect_server_is_wrong(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store")
    model = models_of(study)[0]
    write_row(model, store, FAILED, "no memory")
    before = contents(store.uri)
    with temporary_settings({PREFECT_API_URL: "garbage"}), pytest.raises(WrongInput):
        run.run_study(study, store.uri, retry={FAILED})
    assert contents(store.uri) == before


def test_a_study_that_is_done_needs_no_prefect_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store")
    train(store, models_of(study))
    compared(study, store)
    monkeypatch.setattr("flows.commands.run.renewed_report", lambda *_: "the report")
    with temporary_settings({PREFECT_API_URL: "garbage"}):
        assert run.run_study(study, store.uri) == 0
    assert "nothing to train" in capsys.readouterr().err


def test_rows_that_were_lost_during_a_run_are_counted_and_it_exits_with_1(
    tmp_path: Path, with_flow: Callable[[Flow], None], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store")
    with_flow(lambda *_: None)
    models = sum(len(cell.models) for cell in study.cells())
    assert run.run_study(study, store.uri) == 1
    out = capsys.readouterr().out
    assert f"{models} models are left to train and 0 to score. {RUN_AGAIN}" in out


def test_a_disk_that_is_full_at_the_start_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = made_up(tmp_path / "store")
    spec = tmp_path / "store" / "study.json"

    def full(self: object, data: bytes, *names: str, lasting: bool = False) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("infra.store.Store.write_bytes", full)
    assert main(["run", str(spec), "--store", store.uri]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("tolstoy: store: found") and "No space left" in lines[-1]
    assert "Traceback" not in "".join(lines)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"retry": {"failed"}}, "--retry changes nothing: no model of "),
        ({"join": True}, "--join changes nothing: no other run works on "),
        ({"workers": cores() + 1}, f"--workers {cores() + 1} is more than the {cores()} cores"),
    ],
)
def test_an_option_without_an_effect_says_so(
    options: dict[str, Any],
    line: str,
    tmp_path: Path,
    with_flow: Callable[[Flow], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = made_up(tmp_path / "store")
    with_flow(lambda *_: None)
    run.run_study(study, store.uri)
    assert "changes nothing" not in capsys.readouterr().err
    run.run_study(study, store.uri, **options)
    assert capsys.readouterr().err.count(line) == 1


@pytest.mark.parametrize("table", ["scores", "pairs", "ranks"])
def test_damaged_parts_that_retry_moved_are_counted(
    table: str,
    tmp_path: Path,
    with_flow: Callable[[Flow], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = made_up(tmp_path / "store")
    train(store, models_of(study))
    compared(study, store)
    with_flow(lambda *_: None)
    store.write_bytes(b"damaged", "tables", table, f"{store.parts(table)[0]}.parquet")
    run.run_study(study, store.uri, retry={DAMAGED})
    err = capsys.readouterr().err
    assert f"Moved 1 damaged part of the tables to {store}/damaged." in err.splitlines()
    assert "changes nothing" not in err and "tried again" not in err


def test_workers_of_a_cluster_are_not_counted_here(
    tmp_path: Path, with_flow: Callable[[Flow], None], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store")
    with_flow(lambda *_: None)
    with ray_head([{"CPU": 1.0}]) as address:
        run.run_study(study, store.uri, workers=1, ray=address)
    assert "--workers changes nothing with --ray" in capsys.readouterr().err


def test_a_cluster_that_refuses_the_token_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ray_head(refuses=True) as address:
        place = tmp_path / "store"
        assert main(["run", "smoke", "--ray", address, "--store", str(place)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), place.exists()) == ("", 1, False)
    assert f"--ray: found {address}, which " in err


def test_bfloat16_without_instructions_is_refused_before_anything_starts(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tasks.study.precision.has_bfloat16", lambda: False)
    monkeypatch.setattr("tasks.study.precision.has_nvidia_gpu", lambda: False)
    store = tmp_path / "store"
    command = ["run", str(spec), "--set", "training.precision=bfloat16", "--store", str(store)]
    assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "training.precision: found 'bfloat16'" in line and "slow_bfloat16: true" in line
    assert not store.exists()
