"""Traces: the same after any kill, the same models as without, and files that show damage."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tasks.train
from data import dsprites
from infra.errors import WrongInput
from infra.store import Store
from models.traces import activations
from models.training import TrainingModule
from tasks import data_sets
from tasks.log import model_log
from tasks.snapshots import PREFIX, Snapshots, trace_samples
from tasks.streams import stream
from tasks.study.data_choice import DataChoice
from tasks.study.dynamics import TRACES
from tasks.study.model import Model
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.under_way import FOLDER as UNDER_WAY
from tasks.traces import read_traces
from tasks.train import train_model
from tasks.weights import load_model
from tests.infra.s3_server import BUCKET, environment, s3_server
from tests.tasks.made_models import SMALL, changed

ROOT = Path(__file__).parents[2]
MODEL = changed(SMALL, steps=110)
SECTION = {"count": 4, "samples": 6}  # after 40, 60, 100 and 110 steps
STEPS = [40, 60, 100, 110]
FREE = ("seconds", "tries", "memory_mb", "versions")  # columns that no two trainings share


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """dSprites, drawn for these tests, where also their child processes find it."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOLSTOY_DATA", str(folder))
        data_sets.load.cache_clear()
        trace_samples.cache_clear()
        dsprites.load(folder)
        yield
        data_sets.load.cache_clear()
        trace_samples.cache_clear()


def a_study(traces: dict[str, Any] | None = SECTION, every: int | None = 20) -> Study:
    """With a checkpoint after so many steps."""
    training = {"log_every": 20, "checkpoint_seconds": 1e9, "checkpoint_steps": every}
    spec = {"name": "t", "data": ["dsprites"], "methods": {"beta_vae": [4]}, "probe": 20}
    return parse_study({**spec, "training": training, "traces": traces})


def trained(
    folder: Path, traces: dict[str, Any] | None = SECTION, model: Model = MODEL
) -> dict[str, bytes]:
    """The files of the model's folder, but the log, after its training."""
    store = Store(folder)
    assert train_model(store, a_study(traces), model) == "trained"
    return files(folder, model)


def files(folder: Path | str, model: Model = MODEL) -> dict[str, bytes]:
    store = Store(folder)
    names = store.names("models", model.id)
    return {name: store.read_bytes("models", model.id, name) for name in names if name != "log.txt"}


def log(folder: Path | str) -> str:
    return Store(folder).read_bytes("models", MODEL.id, "log.txt").decode()


def arrays(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, cache: None) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    trained(folder)
    return folder


def test_the_file_is_what_the_contract_says(undisturbed: Path) -> None:
    found = files(undisturbed)
    assert found.keys() == {"model.json", "weights.safetensors", TRACES}
    traces = arrays(found[TRACES])
    assert traces.keys() == {"traces", "steps", "layers", "factors", "factor_names"}
    assert traces["traces"].shape == (4, 6, 1280) and traces["traces"].dtype == np.float16
    assert traces["steps"].tolist() == STEPS and traces["steps"].dtype == np.int64
    assert traces["layers"].tolist() == ["dense1"] * 256 + ["dense2"] * 1024
    data_set = data_sets.load(DataChoice(name="dsprites"))
    draws = stream("traces", "dsprites")
    factors = data_set.sample(6, draws)
    assert np.array_equal(traces["factors"], factors) and traces["factors"].dtype == np.int64
    assert tuple(traces["factor_names"]) == data_set.factor_names
    last = activations(
        load_model(MODEL, Store(undisturbed)), data_set.images(factors, draws), ("dense1", "dense2")
    )
    np.testing.assert_allclose(traces["traces"][-1], last, rtol=2e-3, atol=1e-4)
    moved = np.abs(np.diff(traces["traces"].astype(float), axis=0)).max(axis=(1, 2))
    assert (moved > 1e-3).all(), "the model learned between the snapshots"


def test_a_traced_model_is_the_model_without_traces(undisturbed: Path, tmp_path: Path) -> None:
    plain, traced = trained(tmp_path, None), files(undisturbed)
    assert traced.keys() - plain.keys() == {TRACES}
    assert all(traced[name] == content for name, content in plain.items())
    for table in ("representations", "curves", "pictures"):
        of_both = [f / "tables" / table / f"{MODEL.id}.parquet" for f in (undisturbed, tmp_path)]
        assert of_both[0].read_bytes() == of_both[1].read_bytes(), table
    rows = [Store(f).read("models").drop_columns(list(FREE)) for f in (undisturbed, tmp_path)]
    assert rows[0].equals(rows[1])


def test_checkpoints_are_those_without_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: dict[bool, list[bytes]] = {True: [], False: []}
    checkpoint = TrainingModule.checkpoint
    for with_traces, checkpoints in saved.items():

        def noted(self: TrainingModule, into: list[bytes] = checkpoints) -> bytes:
            self.seconds = 0.0
            into.append(checkpoint(self))
            return into[-1]

        with monkeypatch.context() as patch:
            patch.setattr(TrainingModule, "checkpoint", noted)
            trained(tmp_path / str(with_traces), SECTION if with_traces else None)
    assert len(saved[True]) == 5 and saved[True] == saved[False]


class Stop(BaseException):
    """Ends the training as the end of the process would."""


FILES = 16  # 4 snapshots, 5 checkpoints, weights, identity, 3 tables, traces, the model's row


def stopped_at(folder: Path | str, call: int, before: bool, traces: dict[str, Any] | None) -> bool:
    """Train, and stop before or after the call-th file is written; False if there are fewer."""
    count, write = 0, Store.write_bytes

    def limited(self: Store, data: bytes, *names: str, lasting: bool = False) -> None:
        nonlocal count
        if names[0] == UNDER_WAY or names[-1] == "log.txt":  # as often as time goes by
            write(self, data, *names, lasting=lasting)
            return
        count += 1
        if count >= call and before:
            raise Stop
        write(self, data, *names, lasting=lasting)
        if count >= call:
            raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "write_bytes", limited)
        try:
            train_model(Store(folder), a_study(traces), MODEL)
        except Stop:
            return True
    return False


# Before a file is written is, but for its temporary name, after the one before it.
@pytest.mark.parametrize(
    ("call", "before"),
    [*((call, True) for call in range(1, FILES + 1)), (4, False), (FILES, False)],
)
def test_stopped_at_any_file_and_trained_again_gives_the_same_bytes(
    call: int, before: bool, undisturbed: Path, tmp_path: Path
) -> None:
    assert stopped_at(tmp_path, call, before, SECTION)
    assert trained(tmp_path) == files(undisturbed)
    assert "is not used" not in log(tmp_path)


@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(calls=st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=2, max_size=4))
def test_stopped_again_and_again_gives_the_same_bytes(
    calls: list[tuple[int, bool]], undisturbed: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stopped")
    for call, before in calls:
        stopped_at(folder, call, before, SECTION)
    assert trained(folder) == files(undisturbed)


def test_an_object_store_gets_the_same_bytes(
    undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as address:
        for name, value in environment(address).items():
            monkeypatch.setenv(name, value)
        uri = f"s3://{BUCKET}/traced"
        assert stopped_at(uri, 5, False, SECTION)
        store = Store(uri)
        assert f"{PREFIX}60" in store.names("models", MODEL.id)
        assert train_model(store, a_study(), MODEL) == "trained"
        assert files(uri) == files(undisturbed)
        assert "training from step 60 of 110" in log(uri)
        traces, expected = read_traces(store, MODEL), read_traces(Store(undisturbed), MODEL)
        assert traces is not None and expected is not None
        assert np.array_equal(traces.array(), expected.array())


def steps_taken(folder: Path, traces: dict[str, Any] | None = SECTION) -> list[int]:
    """The optimiser steps of a training that goes on."""
    steps, optimise = [], TrainingModule.optimise

    def noted(self: TrainingModule, step: int) -> Any:
        steps.append(step)
        return optimise(self, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingModule, "optimise", noted)
        assert train_model(Store(folder), a_study(traces), MODEL) == "trained"
    return steps


def test_training_goes_on_after_the_last_checkpoint(undisturbed: Path, tmp_path: Path) -> None:
    assert stopped_at(
        tmp_path, 4, False, SECTION
    )  # after the snapshot of 60, before that checkpoint
    assert steps_taken(tmp_path) == list(range(40, 110))
    assert files(tmp_path) == files(undisturbed)


@pytest.mark.parametrize(
    ("other", "files_until_60"),
    [
        (None, 3),
        ({**SECTION, "layers": ["dense1"]}, 5),
        ({**SECTION, "samples": 7}, 5),
        ({"every": 20, "samples": 6}, 6),
    ],
    ids=["none", "layers", "samples", "all of them"],
)
def test_a_checkpoint_without_its_snapshots_is_not_used(
    other: dict[str, Any] | None, files_until_60: int, undisturbed: Path, tmp_path: Path
) -> None:
    """The study had no traces when the checkpoint was written, or others."""
    assert stopped_at(tmp_path, files_until_60, False, other)
    assert Store(tmp_path).exists("models", MODEL.id, "checkpoint.pt")
    has_all = bool(other and "every" in other)
    assert (steps_taken(tmp_path)[0] == 0) != has_all
    assert ("is not used: the snapshot of step 40 for the traces is" in log(tmp_path)) != has_all
    assert files(tmp_path) == files(undisturbed), "snapshots of other steps are removed, too"


def test_a_damaged_snapshot_costs_the_steps_since_then(undisturbed: Path, tmp_path: Path) -> None:
    assert stopped_at(tmp_path, 5, False, SECTION)  # checkpoints of 60, and of 40 before it
    place = Store(tmp_path).path("models", MODEL.id, f"{PREFIX}60")
    content = bytearray(Path(place).read_bytes())
    content[100] ^= 1
    Path(place).write_bytes(bytes(content))
    assert steps_taken(tmp_path) == list(range(40, 110))
    assert "step 60 is not used: the snapshot of step 60" in log(tmp_path)
    assert model_log(Store(tmp_path), MODEL.id).tries() == ["", "trained"], "it is read as before"
    assert files(tmp_path) == files(undisturbed)


CHILD = """
import sys
from pathlib import Path
from infra.store import Store
from tests.tasks.test_traces import LONG, LONG_SECTION, a_study
from tasks.train import train_model
print(train_model(Store(sys.argv[1]), a_study(LONG_SECTION), LONG), flush=True)
"""
LONG = changed(SMALL, steps=400)
LONG_SECTION = {"every": 40, "samples": 6}


@pytest.mark.slow
def test_a_process_that_is_killed_twice_leaves_what_gives_the_same_traces(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    whole, killed = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("killed")
    expected = trained(whole, LONG_SECTION, LONG)
    for snapshot in (40, 200):
        awaited = killed / "models" / LONG.id / f"{PREFIX}{snapshot}"
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(killed)],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        until = time.monotonic() + 120
        while not awaited.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert awaited.exists() and not Store(killed).has_part("models", LONG.id)
    assert trained(killed, LONG_SECTION, LONG) == expected
    assert not list(killed.rglob("*.tmp"))


@pytest.mark.parametrize("how", ["diverged", "failed at the end"])
def test_a_model_that_is_not_trained_leaves_nothing(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    save = Snapshots.save
    monkeypatch.setattr(
        Snapshots,
        "save",
        lambda self, step, *rest: (saved.append(step), save(self, step, *rest))[1],
    )
    optimise = TrainingModule.optimise

    def broken(self: TrainingModule, step: int) -> Any:
        losses = optimise(self, step)
        return (losses[0] * float("nan"), *losses[1:]) if step == 70 else losses

    def refused(*_: Any, **__: Any) -> None:
        raise RuntimeError("no row")

    store = Store(tmp_path)
    if how == "diverged":
        monkeypatch.setattr(TrainingModule, "optimise", broken)
    else:
        finish, calls = tasks.train.write_row, []
        monkeypatch.setattr(
            tasks.train,
            "write_row",
            lambda *a, **k: (calls.append(1), refused() if len(calls) == 1 else finish(*a, **k)),
        )
    assert train_model(store, a_study(), MODEL) == how.split()[0]
    assert saved == ([40, 60] if how == "diverged" else STEPS)
    left = [name for name in store.names("models", MODEL.id) if name not in ("log.txt",)]
    assert not [name for name in left if name == TRACES or name.startswith(PREFIX)]
    assert read_traces(store, MODEL) is None


def test_a_full_disk_ends_no_model(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Store.write_bytes

    def full(self: Store, data: bytes, *names: str, lasting: bool = False) -> None:
        if names[-1].startswith(refused[0]):
            raise OSError(28, "No space left on device")
        write(self, data, *names, lasting=lasting)

    refused = [""]
    for refused[0] in (f"{PREFIX}60", TRACES):
        with monkeypatch.context() as patch:
            patch.setattr(Store, "write_bytes", full)
            with pytest.raises(OSError, match="No space left"):
                train_model(Store(tmp_path), a_study(), MODEL)
        assert Store(tmp_path).read("models").num_rows == 0
    assert trained(tmp_path) == files(undisturbed)


def test_snapshots_that_outlived_the_models_row_are_removed(tmp_path: Path) -> None:
    expected = trained(tmp_path)
    Store(tmp_path).write_bytes(b"old", "models", MODEL.id, f"{PREFIX}40")
    assert trained(tmp_path, None) == expected, "also in a study that has no traces any more"


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_numbers_outside_the_type_are_its_largest(precision: str, tmp_path: Path) -> None:
    study = a_study({"count": 1, "samples": 2, "layers": ["dense1"], "precision": precision})
    model = changed(SMALL, steps=20)
    values = np.zeros((2, 256), np.float32)
    values[1, :3] = 1e9, 0.1, 65_504
    snapshots = Snapshots(Store(tmp_path), study, model)
    snapshots.save(20, values)
    snapshots.put_together(data_sets.load(study.data[0]), np.zeros((2, 5), np.int64))
    traces = read_traces(Store(tmp_path), model)
    assert traces is not None and traces.dtype == precision
    found = traces.array()[0, 1, :3]
    kind = np.dtype(precision).type
    assert found.tolist() == [min(1e9, float(np.finfo(kind).max)), float(kind(0.1)), 65_504]


def test_a_grid_of_samples_is_drawn_from_the_data_set(tmp_path: Path) -> None:
    model = changed(SMALL, steps=20)
    trained(tmp_path, {"count": 1, "samples": 10, "vary": ["position_x", "position_y"]}, model)
    traces = read_traces(Store(tmp_path), model)
    assert traces is not None and traces.shape == (1, 9, 1280)
    named = dict(zip(traces.factor_names.tolist(), traces.factors.T.tolist(), strict=True))
    assert named["position_x"] == [0, 0, 0, 16, 16, 16, 31, 31, 31]
    assert named["position_y"] == [0, 16, 31] * 3
    assert len(np.unique(traces.array()[0], axis=0)) == 9


def test_the_reader_gives_layers_and_keeps_no_activations(undisturbed: Path) -> None:
    traces = read_traces(Store(undisturbed), MODEL)
    assert traces is not None and traces.shape == (4, 6, 1280)
    whole = arrays(files(undisturbed)[TRACES])["traces"]
    assert np.array_equal(traces.array(), whole)
    assert np.array_equal(traces.array(["dense2"]), whole[..., 256:])
    assert not any(getattr(value, "nbytes", 0) >= whole.nbytes for value in vars(traces).values())
    with pytest.raises(WrongInput, match="deconv1, not in the traces; accepted: dense1, dense2"):
        traces.array(["dense1", "deconv1"])


def test_no_file_is_no_traces(tmp_path: Path) -> None:
    assert read_traces(Store(tmp_path), MODEL) is None


@given(place=st.floats(0, 1, exclude_max=True), cut=st.booleans(), flip=st.integers(1, 255))
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_gives_no_traces_or_the_same(
    place: float, cut: bool, flip: int, undisturbed: Path
) -> None:
    """Some bytes of an archive mean nothing, such as dates."""
    content = files(undisturbed)[TRACES]
    at = int(place * len(content))
    damaged = (
        content[:at] if cut else content[:at] + bytes([content[at] ^ flip]) + content[at + 1 :]
    )
    other = changed(MODEL, steps=111)
    store = Store(undisturbed)
    store.write_bytes(damaged, "models", other.id, TRACES)
    found, whole = read_traces(store, other), read_traces(store, MODEL)
    assert whole is not None
    if found is not None:
        assert not cut and np.array_equal(found.array(), whole.array())
        assert np.array_equal(found.factors, whole.factors) and found.shape == whole.shape
