"""What `tolstoy status` prints of finished and failed models, once and while it watches."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.cli import main
from flows.commands.status import read_status, watch_store
from infra.drivers.liveness import as_bytes, lock_file, record
from infra.drivers.lock import driver_lock
from infra.store import Store
from tasks.model_row import write_row
from tasks.study.spec import Study
from tasks.study.stored import forget
from tasks.study.under_way import write_steps
from tests.flows.conftest import MODELS
from tests.flows.trained import compared, made_up, models_of, train

Step = Callable[[], object]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def half_done(tmp_path: Path) -> tuple[Study, Store]:
    """Of six models two are trained, one of them scored; one diverged and one failed."""
    study, store = made_up(tmp_path / "store")
    models = models_of(study)
    train(store, models[:2])
    store.remove_part("scores", models[1].id)
    write_row(models[2], store, "diverged", "loss is not finite at step 61")
    write_row(models[3], store, "failed", "OutOfMemory: no room for 5 bytes")
    return study, store


def printed(capsys: pytest.CaptureFixture[str], store: Store, *options: str) -> str:
    assert main(["status", store.root, *options]) == 0
    return capsys.readouterr().out


# once ----------------------------------------------------------------------------------------


def test_counts_reasons_and_what_to_do(
    half_done: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = half_done
    output = printed(capsys, store)
    ids = [model.id for model in models_of(study)]
    assert "2 of 6 models trained, 1 scored, 1 diverged, 1 failed, 2 left" in output
    rows = [line.split() for line in output.splitlines() if line.startswith("dsprites-")]
    assert ["dsprites-beta_vae-4", "2", "0", "0", "1", "1", "0"] in rows
    assert "2 models have no weights:" in output
    reason = "1 diverged: loss is not finite at step 61"
    assert f"  {reason}\n    in dsprites-beta_vae-4: {ids[2]}\n" in output
    assert "1 failed: OutOfMemory: no room for 5 bytes\n" in output
    assert "models/ID/log.txt" in output
    assert output.count("--retry failed,diverged") == 1
    assert "nobody works on it" in output


def test_parts_that_cannot_be_read_are_named(
    half_done: tuple[Study, Store], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    study, store = half_done
    assert json.loads(printed(capsys, store, "--json"))["damaged"] == []
    assert "damaged" not in printed(capsys, store)
    first = models_of(study)[0].id
    for table in ("models", "scores"):
        part = Path(store.path("tables", table, f"{first}.parquet"))
        part.write_bytes(part.read_bytes()[:40])
    models = f"models/{first}.parquet"
    assert json.loads(printed(capsys, store, "--json"))["damaged"] == [models]
    out = printed(capsys, store)
    assert "1 of 6 models trained" in out
    assert f"1 part of the tables in {store} is damaged and counts as missing: {models}. The" in out
    for arguments in (["report", store.root], ["rank", store.root]):
        assert main(arguments) == 0
        assert f"damaged and counts as missing: {models}" in capsys.readouterr().err
    second = models_of(study)[1].id
    store.write_bytes(b"", "tables", "scores", f"{second}.parquet")
    out = printed(capsys, store)
    assert f"2 parts of the tables in {store} are damaged" in out
    assert f"scores/{second}.parquet" in out


def test_models_of_several_instruction_sets_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store")
    models = models_of(study)
    for model, name in zip(models[:3], ("x86_64, AVX2", "x86_64, AVX2", None), strict=True):
        write_row(model, store, "trained", instructions=name)
    assert "instruction sets" not in printed(capsys, store)
    write_row(models[3], store, "trained", instructions="x86_64, AVX-512")
    assert (
        "trained with different instruction sets: x86_64, AVX2 (2 models); x86_64, AVX-512 "
        "(1 model)."
    ) in printed(capsys, store)
    sets = json.loads(printed(capsys, store, "--json"))["instructions"]
    assert sets == {"x86_64, AVX2": 2, "x86_64, AVX-512": 1}


def test_without_failures_there_is_no_text_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = made_up(tmp_path / "store")
    output = printed(capsys, store)
    assert "0 of 6 models trained, 0 scored, 6 left" in output
    assert "finished" not in output
    assert "no weights" not in output
    assert "--retry" not in output
    facts = json.loads(printed(capsys, store, "--json"))
    assert (facts["retry"], facts["failures"], facts["last_finished"]) == (None, [], None)


@pytest.mark.parametrize(
    ("seconds", "text"), [(7300, "2.0 h ago"), (125, "2 min ago"), (-9999, "0 s ago")]
)
def test_how_long_ago_a_model_was_finished(
    seconds: float, text: str, half_done: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    newest = time.time() - seconds
    for place, part in enumerate(Path(half_done[1].path("tables", "models")).iterdir()):
        os.utime(part, (newest - 1000 * place, newest - 1000 * place))
    assert f"the last model was finished {text}" in printed(capsys, half_done[1])
    facts = json.loads(printed(capsys, half_done[1], "--json"))
    moment = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(newest))
    assert facts["last_finished"] == moment


def test_the_drivers_of_a_store_are_named(
    half_done: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    with driver_lock(half_done[1]) as lock:
        assert f"pid {os.getpid()} works on it" in printed(capsys, half_done[1])
    half_done[1].write_bytes(as_bytes(lock.me), *record(lock.me.id))
    lock_file(lock.me.id).touch()  # as if it had been killed
    assert "nobody works on it" in printed(capsys, half_done[1])
    lock_file(lock.me.id).unlink()


@pytest.mark.parametrize("table", ["models", "scores"])
def test_a_cell_that_is_merged_between_listing_and_reading_is_counted(
    table: str, half_done: tuple[Study, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = half_done
    models = models_of(study)
    before = read_status(store).totals
    listed = Store.parts

    def then_merged(self: Store, name: str) -> list[str]:
        parts = listed(self, name)
        monkeypatch.setattr(Store, "parts", listed)
        for cell in study.cells():
            store.merge(table, cell.name, [model.id for model in cell.models])
        return parts

    def at_that_table(self: Store, name: str) -> list[str]:
        return (then_merged if name == table else listed)(self, name)

    monkeypatch.setattr(Store, "parts", at_that_table)
    during = read_status(store)
    assert not store.has_part(table, models[0].id), "it was merged between"
    assert during.totals == before


def test_status_reads_the_store_alone(
    undisturbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(undisturbed), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["trained"], status["scored"], status["left"]) == (MODELS, MODELS, 0)
    assert [cell["trained"] for cell in status["cells"]] == [2, 2, 2]
    assert main(["status", str(undisturbed)]) == 0
    assert "6 of 6 models trained" in capsys.readouterr().out


# --watch -------------------------------------------------------------------------------------


class Clock:
    """A clock that only sleeping moves; the next step happens during each sleep."""

    def __init__(self, *steps: Step) -> None:
        self.time, self.steps, self.slept = 1000.0, list(steps), []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()


def watched(
    capsys: pytest.CaptureFixture[str],
    store: Store,
    steps: list[Step],
    every: float = 5.0,
    json: bool = False,
) -> tuple[list[str], Clock]:
    """What is printed while these things happen, then Ctrl-C."""
    clock = Clock(*steps)
    assert watch_store(store, every, json, clock.now, clock.sleep) == 0
    return capsys.readouterr().out.splitlines(), clock


def nothing() -> None:
    pass


def test_a_line_for_each_change_and_none_otherwise(
    half_done: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = half_done
    model = models_of(study)[4]
    steps: list[Step] = [nothing, nothing, lambda: train(store, [model]), nothing, nothing]
    lines, clock = watched(capsys, store, steps, every=7)
    counts = [line for line in lines if re.match(r"\d\d:\d\d:\d\d ", line)]
    assert len(counts) == 2
    assert "2 of 6 models trained, 1 scored, 1 diverged, 1 failed, 2 left" in counts[0]
    assert "nobody works on it" in counts[0]
    assert "3 of 6 models trained, 2 scored, 1 diverged, 1 failed, 1 left" in counts[1]
    assert "\x1b" not in "".join(lines)
    assert set(clock.slept) == {7.0}


def test_each_reason_is_printed_once(
    half_done: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = half_done
    more = models_of(study)[4:]

    def again() -> None:
        write_row(more[0], store, "diverged", "loss is not finite at step 62")

    def another() -> None:
        write_row(more[1], store, "failed", "a new reason")

    lines, _ = watched(capsys, store, [again, another])
    assert sum("loss is not finite" in line for line in lines) == 1
    assert sum("OutOfMemory" in line for line in lines) == 1
    assert lines[-1] == f"{more[1].id} failed: a new reason"


def test_pace_and_time_left_are_of_what_was_done_since_watching_began(
    half_done: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = half_done
    models = models_of(study)
    steps: list[Step] = [nothing, lambda: train(store, [models[4]])]
    lines, _ = watched(capsys, store, steps, every=900, json=True)
    first, second = map(json.loads, lines)
    assert (first["models_per_hour"], first["minutes_left"]) == (None, None)
    assert second["models_per_hour"] == pytest.approx(2.0)
    assert second["minutes_left"] == pytest.approx(30.0)
    assert (second["trained"], second["left"], second["done"]) == (3, 1, False)
    assert second["failures"][0]["status"] == "diverged"
    assert "cells" not in second


def test_a_study_of_methods_without_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store", methods={"pca": []})
    train(store, models_of(study)[:1])
    assert "left" in printed(capsys, store) and "of all steps" not in printed(capsys, store)
    lines, _ = watched(capsys, store, [nothing], json=True)
    assert json.loads(lines[0])["minutes_left"] is None


def test_steps_of_models_in_training_give_a_pace_before_one_has_ended(
    half_done: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = half_done
    model = models_of(study)[4]

    def reported(steps: int) -> Step:
        return lambda: write_steps(store, model.id, steps)

    half, more = model.recipe.steps // 2, model.recipe.steps // 2 + 1
    lines, _ = watched(capsys, store, [reported(half), reported(more)], every=1800)
    assert len(lines) == 2 + 2, "no line for what changes less than a hundredth"
    assert "66% of all steps done" in lines[0]
    assert "75% of all steps done, 1.0 models per hour, 90 min of training left" in lines[-1]


def test_scoring_has_its_own_pace_when_all_models_are_trained(
    half_done: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = half_done
    models = models_of(study)
    train(store, models[4:])
    for model in models[4:]:
        store.remove_part("scores", model.id)
    steps: list[Step] = [lambda: train(store, models[1:2])]
    lines, _ = watched(capsys, store, steps, every=1800)
    assert "models per hour" not in lines[-1]
    assert "2.0 models scored per hour, 60 min of scoring left" in lines[-1]


def test_models_that_are_tried_again_do_not_spoil_the_pace(
    half_done: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = half_done
    models = models_of(study)
    steps: list[Step] = [
        lambda: forget(study, store, {"failed", "diverged"}),
        lambda: train(store, models[2:3]),
    ]
    lines, _ = watched(capsys, store, steps, every=1800)
    assert "models per hour" not in "".join(lines[:-1])
    assert "2.0 models per hour, 90 min of training left" in lines[-1]


def test_watching_ends_when_the_study_is_done(
    half_done: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = half_done

    def rest() -> None:
        train(store, [*models_of(study)[:2], *models_of(study)[4:]])

    steps: list[Step] = [rest, nothing, lambda: compared(study, store), pytest.fail]
    lines, clock = watched(capsys, store, steps)
    assert "4 of 6 models trained, 4 scored, 1 diverged, 1 failed, 0 left" in lines[-1]
    assert lines[-1].endswith("done")
    assert "done" not in lines[-2]
    assert len(clock.slept) == 3, "a trained and scored study that is not ranked is not done"


def test_a_store_out_of_reach_is_read_again(
    half_done: tuple[Study, Store],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, store = half_done

    def out_of_reach(*_: object) -> Any:
        raise OSError("the mount\nis gone")

    reads = Store.read
    steps: list[Step] = [
        lambda: monkeypatch.setattr(Store, "read", out_of_reach),
        lambda: train(store, models_of(study)[4:5]),
        lambda: monkeypatch.setattr(Store, "read", reads),
    ]
    lines, _ = watched(capsys, store, steps, json=True)
    assert [json.loads(line)["trouble"] for line in lines] == [
        None,
        "cannot be read at the moment: the mount is gone",
        None,
    ]
    assert json.loads(lines[-1])["trained"] == 3


def test_a_large_store_is_not_read_all_the_time(
    half_done: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = half_done
    steps: list[Step] = [nothing, nothing, lambda: train(store, models_of(study)[4:5]), nothing]
    clock = Clock(*steps)

    class SlowStore(Store):
        def read_bytes(self, *names: str) -> bytes:
            clock.time += 10 if names == ("study.json",) else 0  # read once for each status
            return super().read_bytes(*names)

    assert watch_store(SlowStore(store.root), 2.0, False, clock.now, clock.sleep) == 0
    assert clock.slept == [40, 2, 2, 40, 2], "what has not changed is not read again"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--watch", "--every", "0"], "--every: found 0.0"),
        (["--watch", "--every", "-3"], "--every: found -3.0"),
        (["--watch", "--every", "inf"], "inf; accepted: seconds above 0, at most 86,400"),
        (["--watch", "--every", "86401"], "--every: found 86401.0"),
        (["--every", "3"], "--every: found 3.0; accepted: nothing, except with --watch"),
    ],
)
def test_wrong_intervals(
    options: list[str],
    message: str,
    half_done: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["status", half_done[1].root, *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_what_is_no_store_is_reported_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(tmp_path), "--watch"]) == 2
    assert "study.json" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [False, True])
def test_ctrl_c_ends_with_0(terminal: bool, half_done: tuple[Study, Store]) -> None:
    command = [
        sys.executable,
        "-m",
        "flows.cli",
        "status",
        half_done[1].root,
        "--watch",
        "--every",
        "1",
    ]
    reads, writes = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        command,
        stdout=writes,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "300", "LINES": "50"},  # a long path wraps no line
        start_new_session=True,
    )
    os.close(writes)
    output = b""
    while b"2 of 6 models trained" not in output:
        output += os.read(reads, 10_000)
    os.killpg(process.pid, signal.SIGINT)
    try:
        while more := os.read(reads, 10_000):
            output += more
    except OSError:  # how a terminal ends
        pass
    assert process.stderr is not None
    errors = process.stderr.read()
    assert (process.wait(30), errors) == (0, b"")
    assert (b"\x1b[" in output) == terminal
    if terminal:
        assert b"all cells" in output
        assert b"dsprites-factor_vae-10" not in output, "not under way"
        assert b"dsprites-beta_vae-1" in output, "not all of it is scored"
        assert b"Try them again: " in output
