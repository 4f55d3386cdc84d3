"""Two runs on one store: the second is refused, or shares the work; no work is done twice."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from flows.open_study import open_study
from infra.drivers.lock import driver_lock
from infra.errors import WrongInput
from infra.store import Store
from tasks.study.spec import Metrics, Udr
from tests.flows.conftest import MODELS, contents, start, tolstoy, wait_for_training
from tests.flows.trained import made_up, models_of, train

pytestmark = pytest.mark.timeout(600)


def wait_for_driver(store: Path) -> None:
    deadline = time.monotonic() + 60
    while not (list(store.glob("drivers/*.json")) and (store / "study.json").exists()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def trainings(store: Path) -> Counter[str]:
    """How often the training of each model was begun or continued."""
    logs = {log.parent.name: log.read_text() for log in store.glob("models/*/log.txt")}
    return Counter({model: text.count("training from step") for model, text in logs.items()})


@pytest.mark.slow
def test_a_second_driver_is_refused_and_one_that_joins_shares_the_work(
    spec: Path, undisturbed: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    first = start("run", spec, "--store", store, "--workers", 1)
    wait_for_driver(store)
    joined = start("run", spec, "--store", store, "--workers", 1, "--join")
    refused = tolstoy("run", spec, "--store", store)
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1, refused.stderr
    assert "held by" in refused.stderr and "pid " in refused.stderr and "--join" in refused.stderr
    retried = tolstoy("run", spec, "--store", store, "--join", "--retry", "failed")
    assert retried.returncode == 2 and "--retry" in retried.stderr, retried.stderr
    for process in (first, joined):
        _, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        if process is joined:
            assert f"pid {first.pid}" in err
    assert_same(store, undisturbed)
    assert sorted(trainings(store).values()) == [1] * MODELS


def assert_same(store: Path, undisturbed: Path) -> None:
    actual, expected = contents(store), contents(undisturbed)
    for name in expected:
        assert actual[name] == expected[name], name
    assert Store(store).names("drivers") == Store(store).names("claims") == []


@pytest.mark.slow
def test_a_driver_that_joined_finishes_the_work_of_a_killed_driver(
    spec: Path, undisturbed: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    first = start("run", spec, "--store", store, "--workers", 1)
    wait_for_driver(store)
    joined = start("run", spec, "--store", store, "--workers", 1, "--join")
    wait_for_training(first, store)
    first.kill()
    first.communicate(timeout=60)
    _, err = joined.communicate(timeout=240)
    assert joined.returncode == 0, err
    assert_same(store, undisturbed)


@pytest.mark.slow
def test_a_run_whose_record_was_removed_ends_with_one_line(spec: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = start("run", spec, "--set", "training.steps=100000", "--store", store)
    wait_for_training(process, store)
    for record in store.glob("drivers/*.json"):
        record.unlink()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2, err
    assert "taken over by another driver" in err.splitlines()[-1] and "Traceback" not in err
    assert Store(store).names("claims") == []


def test_a_refused_run_changes_nothing(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "held")
    larger = study.model_copy(update={"seeds": 3})
    written = store.read_bytes("study.json")
    with (
        driver_lock(store),
        pytest.raises(WrongInput, match="held by"),
        open_study(larger, store, set()),
    ):
        pass
    assert store.read_bytes("study.json") == written
    with driver_lock(store), open_study(study, store, set(), join=True) as opened:
        assert opened.lock and len(opened.states) == len(study.cells())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seeds": 3}, "other models"),
        ({"udr": Udr(p=1)}, "other udr"),
        ({"seeds": 3, "metrics": Metrics(names=("mig", "sap"))}, "other models, metrics"),
    ],
)
def test_drivers_that_share_a_store_agree_on_the_work(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    """Otherwise each would replace the rankings of the other by its own."""
    study, store = made_up(tmp_path / "held")
    written = store.read_bytes("study.json")
    other = study.model_copy(update=change)
    with (
        driver_lock(store),
        pytest.raises(WrongInput, match=f"with --join, one with {named}"),
        open_study(other, store, set(), join=True),
    ):
        pass
    assert store.read_bytes("study.json") == written
    assert len(store.names("drivers")) == 0


def test_retry_is_refused_while_another_driver_runs(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "held")
    with (
        driver_lock(store),
        pytest.raises(WrongInput, match="--retry"),
        open_study(study, store, {"failed"}, join=True),
    ):
        pass


def test_a_store_without_a_study_file_is_new(tmp_path: Path) -> None:
    """Its driver was killed after it wrote its record and before it wrote study.json."""
    study, elsewhere = made_up(tmp_path / "elsewhere")
    store = Store(tmp_path / "store")
    store.write_bytes(b"", "claims", "models-x")
    with open_study(study, store, set()) as opened:
        assert opened.lock and store.exists("study.json")
        assert not elsewhere.exists("drivers")


def test_a_study_with_nothing_to_do_is_not_locked(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "done", udr={"similarities": []})
    train(store, models_of(study))
    with driver_lock(store), open_study(study, store, set()) as opened:
        assert opened.lock is None and opened.finished
