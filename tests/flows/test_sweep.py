"""What a stage makes of what its workers return, without Ray."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.spec import parse_study
from flows.survey import survey
from flows.sweep import Sweep, Work
from infra.errors import WrongInput
from infra.store import Store
from tests.flows.conftest import TINY


class Returns:
    """Workers that return the same for every call."""

    def __init__(self, outcome: object) -> None:
        self.outcome = outcome

    def map(
        self, function: Callable[..., Any], calls: list[tuple[Any, ...]], gpus: float = 0.0
    ) -> Iterator[tuple[tuple[Any, ...], object]]:
        for call in calls:
            yield call, self.outcome


class FromAWorker(Exception):
    """Ray's way of handing on an error: the original is its cause."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    study, store = parse_study(TINY), Store(tmp_path)
    return Sweep(study, store, survey(study, store), Work())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("wrap", [lambda error: error, FromAWorker])
def test_a_full_disk_stops_the_run_and_no_model_is_blamed(
    sweep: Sweep, number: int, wrap: Callable[[Exception], Exception]
) -> None:
    workers: Any = Returns(wrap(OSError(number, "as the disk says")))
    for stage, name in (("train", "dsprites-beta_vae-1"), ("compare", "dsprites-beta_vae")):
        with pytest.raises(WrongInput, match="room to write; then the same command goes on"):
            getattr(sweep, stage)(workers, name)
        for one in sweep.cells.values():  # or there is nothing to compare
            one.status.update({model.id: "trained" for model in one.cell.models})
    assert sweep.store.read("models").num_rows == 0


def test_a_lost_worker_is_a_failed_model(sweep: Sweep) -> None:
    workers: Any = Returns(FromAWorker(OSError(errno.EIO, "the worker died")))
    sweep.train(workers, "dsprites-beta_vae-1")
    rows = sweep.store.read("models").to_pylist()
    assert [row["status"] for row in rows] == ["failed", "failed"]
    assert all("the worker died" in row["reason"] for row in rows)
