"""Whatever is killed, no model is lost, none is trained twice, and all numbers are the same."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from infra.errors import RUN_AGAIN
from infra.runtime import LOOPBACK_ONLY
from infra.store import Store
from tests.flows.conftest import MODELS, contents, start, tolstoy, wait_for_training, write_spec
from tests.processes import all_end, descendants, listens_on

pytestmark = pytest.mark.timeout(600)


def assert_same(store: Path, undisturbed: Path) -> None:
    ids = Store(store).read("models")["model_id"].to_pylist()
    assert len(ids) == len(set(ids)) == MODELS
    actual, expected = contents(store), contents(undisturbed)
    for name in expected:
        assert actual[name] == expected[name], name
    assert not list(store.rglob("*.tmp")), "a temporary file was left"
    assert not list(store.rglob("checkpoint.pt")), "a checkpoint outlived its model"


@pytest.mark.slow
def test_one_worker_and_another_order_of_cells_give_the_same_bytes(
    undisturbed: Path, tmp_path: Path
) -> None:
    reversed_grid = {"factor_vae": [10], "beta_vae": [4, 1]}
    spec = write_spec(tmp_path / "reversed.yaml", methods=reversed_grid, seeds=[1, 0])
    done = tolstoy("run", spec, "--store", tmp_path / "store", "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "store", undisturbed)


def test_a_killed_worker_and_an_interrupt_lose_nothing(
    spec: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LOOPBACK_ONLY[0], raising=False)  # a run sets it itself
    store = tmp_path / "store"
    process = start("run", spec, "--store", store, "--workers", 2)
    worker = killed = wait_for_training(process, store)
    assert_listens_on_loopback_only(process.pid)
    os.kill(killed, signal.SIGKILL)
    while worker == killed:
        worker = wait_for_training(process, store)
    helpers = helpers_of(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    interrupted_at = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert time.monotonic() - interrupted_at < 20
    assert RUN_AGAIN in err
    assert "Traceback" not in err
    assert "ERROR" not in err
    all_end(helpers)
    assert_completed(spec, store, undisturbed)


@pytest.mark.slow
def test_a_killed_driver_loses_nothing(spec: Path, undisturbed: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = start("run", spec, "--store", store, "--workers", 2)
    wait_for_training(process, store)
    helpers = helpers_of(process.pid)
    process.kill()
    process.communicate(timeout=60)
    all_end(helpers)
    assert_completed(spec, store, undisturbed)


def assert_completed(spec: Path, store: Path, undisturbed: Path) -> None:
    """The same command does the rest."""
    assert len(Store(store).read("models")) < MODELS, "the run was ended too late"
    done = tolstoy("run", spec, "--store", store, "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert_same(store, undisturbed)


def test_a_finished_study_trains_nothing(spec: Path, undisturbed: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in undisturbed.rglob("*") if path.is_file()}
    done = tolstoy("run", spec, "--store", undisturbed)
    assert done.returncode == 0
    assert "nothing to train" in done.stderr
    after = {path: path.stat().st_mtime_ns for path in undisturbed.rglob("*") if path.is_file()}
    assert after == before


def assert_listens_on_loopback_only(driver: int) -> None:
    """A run with its own Ray and its own Prefect server is reached from this machine only."""
    if sys.platform == "linux":  # reads /proc
        pids = [driver, *(pid for pid, _ in descendants(driver))]
        addresses = {address for pid in pids for address in listens_on(pid)}
        assert addresses
        assert addresses <= {"127.0.0.1", "::1"}


def helpers_of(driver: int) -> list[int]:
    """The processes of Ray and Prefect that a run started.

    Ray's two agents are left out: they are idle and end after a minute.
    """
    return [pid for pid, name in descendants(driver) if not name.endswith("Agent")]
