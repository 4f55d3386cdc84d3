"""`tolstoy report --watch` renews the page of a study that runs, until it is done."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.cli import main
from flows.commands import watch_report as module
from flows.commands.watch_report import WatchedReport, watch_report
from infra.store import Store
from tests.flows.trained import compared, made_up, models_of, train

ROOT = Path(__file__).parents[3]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the reports that were written, in place of reports."""
    reports: list[str] = []

    def short(study: object, store: Store, *_: object, **__: object) -> str:
        reports.append(store.name)
        return f"report-{len(reports)}"

    monkeypatch.setattr(module, "renewed_report", short)
    return reports


def test_it_is_renewed_when_the_tables_change_and_ends_with_the_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: list[str]
) -> None:
    study, store = made_up(tmp_path / "store")
    models = models_of(study)
    steps: Iterator[Callable[[], object]] = iter(
        (
            lambda: train(store, models[:2]),
            lambda: None,  # nothing changes: no report
            lambda: train(store, models[2:]),
            lambda: compared(study, store),
        )
    )
    assert watch_report(store, 0.0, sleep=lambda _: next(steps)()) == 0
    lines = [line.partition(" ")[2] for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "0 of 6 models ended, 0 scored, nobody works on it, report-1",
        "2 of 6 models ended, 2 scored, nobody works on it, report-2",
        "6 of 6 models ended, 6 scored, nobody works on it, report-3",
        "6 of 6 models ended, 6 scored, done, report-4",
    ]
    assert len(made) == 4


def test_it_looks_less_often_where_the_report_takes_long(tmp_path: Path, made: list[str]) -> None:
    _, store = made_up(tmp_path / "store")
    clock = iter([0.0, 100.0])
    waited: list[float] = []

    def stop(seconds: float) -> None:
        waited.append(seconds)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch_report(store, 30.0, now=lambda: next(clock), sleep=stop)
    assert waited == [400.0]


def test_a_store_out_of_reach_is_tried_again(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store = made_up(tmp_path / "store")
    watched = WatchedReport(store)

    def away(*_: object) -> object:
        raise OSError("no answer")

    monkeypatch.setattr(module, "survey", away)
    assert [*watched.renew(), *watched.renew()] == ["not renewed: no answer"]
    monkeypatch.undo()
    monkeypatch.setattr(module, "renewed_report", lambda *_, **__: "report")
    assert len(list(watched.renew())) == 1


@pytest.mark.parametrize(
    "options", [("--every", "3"), ("--watch", "--every", "0"), ("--watch", "--every", "inf")]
)
def test_every_needs_watch_and_a_number_above_zero(
    tmp_path: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = made_up(tmp_path / "store")
    assert main(["report", store.root, *options]) == 2
    assert "--every" in capsys.readouterr().err


def test_a_process_renews_the_page_while_the_tables_change(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store")
    models = models_of(study)
    train(store, models[:2])
    index = Path(store.root) / "report" / "index.html"
    command = [sys.executable, "-W", "error", "-m", "flows.cli", "report", store.root, "--watch"]
    process = subprocess.Popen(
        [*command, "--every", "0.1"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        assert " 2 of 6 models ended" in process.stdout.readline()
        assert "Not finished: 2 of 6 models, 2 to rank." in index.read_text("utf-8")
        train(store, models[2:4])
        assert " 4 of 6 models ended" in process.stdout.readline()
        assert "Not finished: 4 of 6 models, 4 to rank." in index.read_text("utf-8")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == "tolstoy: interrupted\n"
    finally:
        process.kill()
        process.wait()
    assert not list((Path(store.root) / "report").rglob("*.tmp"))
