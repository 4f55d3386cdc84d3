"""What is recorded of a process and of calls on its workers, and the file that holds it."""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from infra import timeline
from infra.errors import WrongInput
from infra.timeline import OfCall, recorded_to, span, with_spans, without_spans
from tests.timelines import check_timeline


class FromAWorker(Exception):
    """Ray's way of handing on an error: the original is its cause."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def double(number: int) -> int:
    with span("doubles", of=str(number)):
        if number < 0:
            raise ValueError("negative")
        return 2 * number


def on_a_worker(function: Any, *arguments: Any) -> Any:
    """The result as Ray hands it on, from a process that does not record."""
    recorder, timeline._recorder = timeline._recorder, None
    try:
        return pickle.loads(pickle.dumps(function(*arguments)))
    except ValueError as error:
        return FromAWorker(pickle.loads(pickle.dumps(error)))
    finally:
        timeline._recorder = recorder


def test_the_file_has_the_spans_of_the_driver_and_of_its_workers(tmp_path: Path) -> None:
    file = tmp_path / "timeline.json"
    with recorded_to(file):
        with span("outer"), span("inner"):
            time.sleep(0.01)
        assert without_spans(on_a_worker(with_spans(double), 3)) == 6
        assert without_spans(on_a_worker(with_spans(double), 4)) == 8
    spans = check_timeline(file)
    assert [name for name, _ in spans["driver"]] == ["outer", "inner"]
    (worker,) = (process for process in spans if process.startswith("worker "))
    facts = [of for name, of in spans[worker] if name == "doubles"]
    assert facts == [{"of": "3"}, {"of": "4"}]


def test_a_call_that_fails_keeps_its_error_and_its_spans(tmp_path: Path) -> None:
    file = tmp_path / "timeline.json"
    with recorded_to(file):
        error = without_spans(on_a_worker(with_spans(double), -1))
        assert isinstance(error, FromAWorker)
        assert isinstance(error.cause, ValueError)
    spans = check_timeline(file)
    assert any(("doubles", {"of": "-1"}) in of_process for of_process in spans.values())


def test_nothing_is_recorded_without_a_file() -> None:
    with recorded_to(None), span("nothing"):
        assert with_spans(double) is double
        assert without_spans(6) == 6
    assert timeline._recorder is None
    assert without_spans(OfCall(6, "host 1", [])) == 6, "of a call that a cluster still did"


@pytest.mark.parametrize("error", [None, KeyboardInterrupt(), SystemExit(15)])
def test_the_file_is_written_however_the_block_ends(
    tmp_path: Path, error: BaseException | None
) -> None:
    file = tmp_path / "timeline.json"
    try:
        with recorded_to(file), span("work"):
            if error:
                raise error
    except BaseException as raised:
        assert raised is error
    assert check_timeline(file) == {"driver": [("work", {})]}
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_an_error_before_any_work_leaves_no_file(tmp_path: Path) -> None:
    file = tmp_path / "timeline.json"
    with pytest.raises(WrongInput), recorded_to(file), span("reads"):
        raise WrongInput("seeds", 0, "a number from 1")
    assert not file.exists()


def test_an_error_after_work_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "timeline.json"
    with pytest.raises(WrongInput), recorded_to(file):
        without_spans(on_a_worker(with_spans(double), 3))
        raise WrongInput("--ray", "gone", "a cluster")
    assert check_timeline(file)


def test_a_file_that_cannot_be_made_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("mine")
    for name in ("there.json", "trace.txt", "no/folder.json"):
        with pytest.raises(WrongInput, match="--timeline: found"), recorded_to(tmp_path / name):
            raise AssertionError("the work was begun")
    assert (tmp_path / "there.json").read_text() == "mine"


def test_spans_do_not_overlap_when_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "timeline.json"
    with recorded_to(file):
        with span("before"):
            pass
        monkeypatch.setattr(time, "time", lambda: 0.0)
        with span("after"):
            pass
    rows = [row for row in json.loads(file.read_text()) if row["ph"] == "X"]
    assert rows[0]["ts"] + rows[0]["dur"] <= rows[1]["ts"]
