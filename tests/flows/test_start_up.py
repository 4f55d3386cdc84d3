"""What starts beside a run's own preparations."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from flows import start_up, worker
from flows.start_up import StartedWorkers, warm_up
from tasks.study.reading import parse_study
from tests.flows.conftest import TINY
from tests.flows.trained import Inline, InlineCalls


class Recording(Inline):
    """Workers that note what they are asked to do."""

    cluster = ""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.made: list[InlineCalls] = []

    def calls(self, function: Any, *_: object, priority: int = 0) -> InlineCalls:
        assert function is worker.warm_up
        self.made.append(super().calls(function))
        return self.made[-1]


STUDY = parse_study(TINY)


@pytest.mark.parametrize(("models", "compiles"), [(9, [True, False]), (1, [True]), (0, None)])
def test_each_worker_that_gets_a_model_imports_and_one_compiles(
    models: int, compiles: list[bool] | None
) -> None:
    workers = Recording(count=2)
    warm_up(workers, STUDY, models)  # type: ignore[arg-type]
    made = [[compiles for _, compiles in calls.pending] for calls in workers.made]
    assert made == ([] if compiles is None else [compiles])


def test_workers_of_a_cluster_start_when_there_is_work() -> None:
    workers = Recording(count=2)
    workers.cluster = "10.0.0.1:6379"
    warm_up(workers, STUDY, 9)  # type: ignore[arg-type]
    assert workers.made == []


def test_workers_end_once_with_their_block_or_when_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    @contextmanager
    def running(*_: object) -> Iterator[Recording]:
        yield Recording(count=1)
        events.append("ended")

    monkeypatch.setattr(start_up, "running_workers", running)
    started = StartedWorkers(None, 1, STUDY, 3)
    with started as workers:
        assert isinstance(workers, Recording)
        assert events == []
    assert events == ["ended"]
    started.close()
    assert events == ["ended"]


def test_what_cannot_be_imported_is_reported_where_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tasks.score", None)
    worker.warm_up(STUDY, compiles=True)
