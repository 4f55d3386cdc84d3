import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load as load_arrays

import tasks.model_row
import tasks.train
from data import dsprites
from infra.errors import WrongInput
from infra.store import Store
from models import METHODS
from models.instructions import instruction_set
from models.representation import decoded_samples, encode
from models.training import TrainingModule
from tasks import data_sets
from tasks.checkpoints import DIGEST, Checkpoints
from tasks.log import LOG
from tasks.lost_gpu import gpu_is_lost
from tasks.model_row import versions
from tasks.streams import stream
from tasks.study.data_choice import DataChoice
from tasks.study.model import Model
from tasks.study.reading import parse_study
from tasks.study.spec import Study
from tasks.study.under_way import FOLDER as UNDER_WAY
from tasks.study.under_way import steps_under_way
from tasks.study.weight_files import CHECKSUM, are_damaged
from tasks.train import prior_samples, train_model
from tasks.weights import load_model
from tests.tasks.made_models import SMALL, changed

ROOT = Path(__file__).parents[2]
MODEL = SMALL
WRITTEN = ("representations", "curves", "pictures", "models")
PROBE = 20


@pytest.fixture(scope="module", autouse=True)
def cache() -> Iterator[None]:
    """dSprites, drawn for these tests, where also their child processes find it."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOLSTOY_DATA", folder)
        data_sets.load.cache_clear()
        dsprites.load(Path(folder))
        yield
        data_sets.load.cache_clear()


def in_store(
    folder: Path, seconds: float = 1e9, steps: int | None = None, log_every: int = 20, **more: Any
) -> tuple[Store, Study]:
    """A store, and a study that says how often logs and checkpoints are written."""
    often = {"log_every": log_every, "checkpoint_seconds": seconds, "checkpoint_steps": steps}
    return Store(folder), parse_study(
        {
            "name": "test",
            "data": ["dsprites"],
            "methods": {"beta_vae": [4]},
            "probe": PROBE,
            "training": {**often, **more},
        }
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LOG  # times and processes
    }


def weights(folder: Path, model: Model = MODEL) -> bytes:
    return Store(folder).read_bytes("models", model.id, "weights.safetensors")


def outcome(folder: Path, model: Model = MODEL) -> dict[str, object]:
    (row,) = Store(folder).read("models", keys=[model.id]).to_pylist()
    return row


def log(folder: Path, model: Model = MODEL) -> str:
    return Store(folder).read_bytes("models", model.id, LOG).decode()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, cache) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert train_model(*in_store(folder), MODEL) == "trained"
    return folder


def test_everything_is_written(undisturbed):
    store = Store(undisturbed)
    assert store.names("models", MODEL.id) == [LOG, "model.json", "weights.safetensors"]
    assert store.names("tables") == sorted(WRITTEN)
    known = store.read_json("models", MODEL.id, "model.json")
    assert known == {**MODEL.identity, "channels": 1, CHECKSUM: zlib.crc32(weights(undisturbed))}
    row = outcome(undisturbed)
    assert {name: row[name] for name in MODEL.keys} == MODEL.keys
    assert (row["status"], row["reason"], row["steps"]) == ("trained", "", 50)
    assert (row["training_steps"], row["architecture"]) == (50, "paper")
    assert row["elbo"] == pytest.approx(-row["reconstruction"] - row["kl"])
    assert row["kl"] == pytest.approx(sum(row["kl_per_latent"]), rel=1e-6)
    assert len(row["kl_per_latent"]) == 3 and row["seconds"] > 0
    versions = json.loads(row["versions"])
    assert versions.keys() >= {"torch", "numpy", "python", "processor", "instructions"}
    assert row["tries"] == 1 and 100 < row["memory_mb"] < 10_000
    curve = store.read("curves").to_pydict()
    assert curve["step"] == [1, 20, 40, 50]
    assert curve["loss"][-1] == pytest.approx(row["loss"])
    pictures = store.read("pictures").to_pylist()
    assert [picture["kind"] for picture in pictures] == ["traversal", "reconstruction", "samples"]
    by_kl = sorted(range(3), key=lambda latent: -row["kl_per_latent"][latent])
    assert pictures[0]["order"] == by_kl
    assert pictures[0]["kl"] == [row["kl_per_latent"][latent] for latent in by_kl]
    assert all(picture["png"].startswith(b"\x89PNG") for picture in pictures)
    samples = prior_samples(3)
    assert samples.shape == (4, 8, 3) and samples.std() == pytest.approx(1, abs=0.3)
    assert pictures[2]["png"] == decoded_samples(load_model(MODEL, store), samples)


def test_the_representation_is_what_the_stored_weights_say_of_the_probe(undisturbed):
    store, images_of = Store(undisturbed), data_sets.load(DataChoice(name="dsprites"))
    draws = stream("probe", "dsprites")
    places = draws.integers(int(np.prod(images_of.factor_sizes)), size=PROBE)
    factors = np.stack(np.unravel_index(places, images_of.factor_sizes), axis=1)
    mean, logvar = encode(load_model(MODEL, store), images_of.images(factors, draws))
    rows = store.read("representations").to_pydict()
    assert rows["row"] == list(range(PROBE))
    np.testing.assert_allclose(np.array(rows["mean"]), mean, atol=1e-6)
    np.testing.assert_allclose(np.array(rows["logvar"]), logvar, atol=1e-6)
    assert load_arrays(weights(undisturbed)).keys() == load_model(MODEL, store).state_dict().keys()


def test_weights_with_a_changed_bit_are_refused(undisturbed, tmp_path):
    store = Store(shutil.copytree(undisturbed, tmp_path / "store"))
    content = bytearray(weights(tmp_path / "store"))
    content[-1] ^= 1  # of a weight: safetensors would not notice
    store.write_bytes(bytes(content), "models", MODEL.id, "weights.safetensors")
    with pytest.raises(WrongInput, match=r"weights\.safetensors: found another content"):
        load_model(MODEL, store)
    assert are_damaged(MODEL.id, store) and not are_damaged(MODEL.id, Store(undisturbed))
    store.write_json({**MODEL.identity, "channels": 1}, "models", MODEL.id, "model.json")
    load_model(MODEL, store)  # of an older version, which wrote no checksum


def test_the_commit_is_that_before_the_training(tmp_path, monkeypatch):
    now = {"commit": "older"}

    def load_after_a_commit(*arguments):
        now["commit"] = "newer"
        return data_sets.load(*arguments)

    monkeypatch.setattr(tasks.model_row, "made_with", lambda: dict(now))
    monkeypatch.setattr(tasks.train, "load", load_after_a_commit)
    versions.cache_clear()
    try:
        train_model(*in_store(tmp_path), changed(MODEL, steps=1))
    finally:
        versions.cache_clear()
    (row,) = Store(tmp_path).read("models").to_pylist()
    assert json.loads(row["versions"])["commit"] == "older"


def test_a_second_call_changes_no_byte(undisturbed):
    before = contents(undisturbed)
    assert train_model(*in_store(undisturbed), MODEL) == "trained"
    assert contents(undisturbed) == before


def test_a_model_whose_row_was_merged_is_done(undisturbed, tmp_path):
    store = Store(tmp_path)
    source = Store(undisturbed)
    for table in ("models", "curves"):
        store.write_part(table, MODEL.id, source.read(table))
        store.merge(table, MODEL.cell, [MODEL.id])
    before = contents(tmp_path)
    assert train_model(*in_store(tmp_path), MODEL) == "trained"
    assert contents(tmp_path) == before


def test_two_stores_get_the_same_bytes(undisturbed, tmp_path):
    torch.manual_seed(99)  # what happens around a model does not matter
    np.random.seed(99)
    assert train_model(*in_store(tmp_path, 1e-9, log_every=7), MODEL) == "trained"
    assert weights(tmp_path) == weights(undisturbed)
    files = {"representations", "pictures"}
    for table in files:
        assert Store(tmp_path).read(table).equals(Store(undisturbed).read(table)), table


def test_another_seed_gives_another_model(undisturbed, tmp_path):
    other = changed(MODEL, seed=1, steps=1)
    train_model(*in_store(tmp_path), other)
    assert weights(tmp_path, other) != weights(undisturbed)


@pytest.mark.parametrize("table", WRITTEN[:-1])
def test_no_model_counts_as_trained_before_its_other_tables_are_written(
    table, tmp_path, monkeypatch
):
    write = Store.write_part

    def no_room(self, name, *rest, **settings):
        if name == table:
            raise OSError(28, "No space left on device")
        write(self, name, *rest, **settings)

    short = changed(MODEL, steps=1)
    monkeypatch.setattr(Store, "write_part", no_room)
    with pytest.raises(OSError, match="No space left"):  # no fault of the model's
        train_model(*in_store(tmp_path), short)
    assert Store(tmp_path).read("models").num_rows == 0
    monkeypatch.undo()
    assert train_model(*in_store(tmp_path), short) == "trained"
    assert "trained, " in log(tmp_path, short).splitlines()[-1]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 8 bytes"),
    ],
)
def test_a_model_that_runs_out_of_memory_has_that_reason(error, tmp_path, monkeypatch):
    def broken(self, step):
        raise error

    monkeypatch.setattr(TrainingModule, "optimise", broken)
    assert train_model(*in_store(tmp_path), MODEL) == "failed"
    assert outcome(tmp_path)["reason"].startswith("out of memory (")


@pytest.mark.parametrize("outcome_here", ["goes on", "fails"])
def test_a_worker_that_was_taken_for_dead_changes_nothing(
    outcome_here, undisturbed, tmp_path, monkeypatch
):
    """It was out of reach, and another worker has trained its model to the end meanwhile."""
    optimise, before = TrainingModule.optimise, []

    def out_of_reach(self, step):
        if step == 30 and not before:
            before.append(step)
            assert train_model(*in_store(tmp_path), MODEL) == "trained"
            before.append(contents(tmp_path))
            if outcome_here == "fails":
                raise RuntimeError("what it needs is gone")
        return optimise(self, step)

    monkeypatch.setattr(TrainingModule, "optimise", out_of_reach)
    assert train_model(*in_store(tmp_path, 1e-9), MODEL) == "trained"
    assert contents(tmp_path) == before[1], "neither a row nor a checkpoint"
    assert weights(tmp_path) == weights(undisturbed)


LOSES_ITS_GPU = """
import sys
from pathlib import Path
import torch
from models.training import TrainingModule
from tests.tasks.test_train import MODEL, in_store
from tasks.train import train_model
optimise = TrainingModule.optimise
def lost(self, step):
    losses = optimise(self, step)
    if step == 30:
        raise torch.AcceleratorError("CUDA error: unspecified launch failure\\nCompile with ...")
    return losses
TrainingModule.optimise = lost
train_model(*in_store(Path(sys.argv[1]), 1e-9), MODEL)
print("still there")
"""


def test_a_lost_gpu_ends_the_process_and_the_next_one_continues(undisturbed, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LOSES_ITS_GPU, str(tmp_path)], cwd=ROOT, capture_output=True
    )
    assert done.returncode == 1 and b"still there" not in done.stdout
    reason = "the GPU was lost (CUDA error: unspecified launch failure)"
    assert log(tmp_path).splitlines()[-1] == f"ended because: {reason}"
    assert Store(tmp_path).read("models").num_rows == 0
    assert train_model(*in_store(tmp_path), MODEL) == "trained"
    assert "training from step 20 of 50" in log(tmp_path)
    assert weights(tmp_path) == weights(undisturbed)
    assert outcome(tmp_path)["tries"] == 2


@pytest.mark.parametrize(
    ("error", "is_lost"),
    [
        (torch.AcceleratorError("CUDA error: device-side assert triggered"), True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), True),
        (torch.OutOfMemoryError("CUDA out of memory"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("CUDA error: "), False),
    ],
)
def test_which_errors_are_a_lost_gpu(error, is_lost):
    assert gpu_is_lost(error) is is_lost


def test_precision_changes_the_id_and_fast_layers_do_not(undisturbed, tmp_path):
    rough = changed(MODEL, precision="bfloat16")
    assert train_model(*in_store(tmp_path), rough) == "trained"
    assert rough.id != MODEL.id and weights(tmp_path, rough) != weights(undisturbed)
    assert outcome(tmp_path, rough)["elbo"] == pytest.approx(outcome(undisturbed)["elbo"], rel=0.05)
    assert train_model(*in_store(tmp_path, fast=False), MODEL) == "trained"
    assert outcome(tmp_path)["elbo"] == pytest.approx(outcome(undisturbed)["elbo"], rel=1e-3)


def test_the_row_is_written_last_and_all_files_are_flushed_to_disk(tmp_path, monkeypatch):
    written, write_bytes = [], Store.write_bytes

    def noted(self, data, *to, lasting=False):
        if to[0] != UNDER_WAY:
            written.append((to[1] if to[0] == "tables" else to[-1], lasting))
        write_bytes(self, data, *to, lasting=lasting)

    monkeypatch.setattr(Store, "write_bytes", noted)
    train_model(*in_store(tmp_path), changed(MODEL, steps=1))
    made = [(name, lasting) for name, lasting in written if name != LOG]
    assert made[-1][0] == "models"
    assert {name for name, _ in made} == {*WRITTEN, "weights.safetensors", "model.json"}
    assert all(lasting for _, lasting in made)


def test_steps_are_reported_now_and_then_and_forgotten_at_the_end(tmp_path, monkeypatch):
    reported, write = [], tasks.train.write_steps

    def noted(store, model_id, steps):
        write(store, model_id, steps)
        reported.append(steps_under_way(store))

    monkeypatch.setattr(tasks.train, "write_steps", noted)
    train_model(*in_store(tmp_path), MODEL)
    assert reported == [{MODEL.id: 0}], "ten seconds have not gone by"
    monkeypatch.setattr(tasks.train, "EVERY_SECONDS", 0.0)
    other = changed(MODEL, seed=1)
    train_model(*in_store(tmp_path), other)
    assert reported[1:] == [{other.id: steps} for steps in (0, 20, 40, 50)]
    assert steps_under_way(Store(tmp_path)) == {}


@pytest.mark.parametrize("error", [PermissionError(13, "no"), OSError(5, "Input/output error")])
def test_a_file_that_cannot_be_removed_changes_no_outcome(tmp_path, monkeypatch, error):
    def refused(*_):
        raise error

    short = changed(MODEL, steps=1)
    monkeypatch.setattr(Store, "remove", refused)
    monkeypatch.setattr(Store, "remove_temporary", refused)
    assert train_model(*in_store(tmp_path), short) == "trained"
    assert Store(tmp_path).read("models")["status"].to_pylist() == ["trained"]


def test_a_checkpoint_that_outlived_its_row_is_removed(tmp_path):
    short, store = changed(MODEL, steps=1), Store(tmp_path)
    train_model(*in_store(tmp_path), short)
    store.write_bytes(b"old", "models", short.id, "checkpoint.pt")
    assert train_model(*in_store(tmp_path), short) == "trained"
    assert not store.exists("models", short.id, "checkpoint.pt")


def test_a_damaged_row_is_made_again(undisturbed, tmp_path):
    short = changed(MODEL, steps=1)
    train_model(*in_store(tmp_path), short)
    part = tmp_path / "tables" / "models" / f"{short.id}.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    assert train_model(*in_store(tmp_path), short) == "trained"
    assert outcome(tmp_path, short)["status"] == "trained"


# So many steps that they are killed on the way, also on a busy machine.
LONGER = {
    "beta_vae": changed(MODEL, steps=240),
    "infogan": changed(method="infogan", architecture="resnet_small", batch_size=2, steps=40),
}

CHILD = """
import sys
from pathlib import Path
from tests.tasks.made_models import changed
from tests.tasks.test_train import LONGER, in_store
from tasks.train import train_model
print(train_model(*in_store(Path(sys.argv[1]), 1e-9), LONGER[sys.argv[2]]), flush=True)
"""


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name == "infogan"))  # its steps are long
        for name in LONGER
    ],
)
def test_killed_and_trained_again_gives_the_same_bytes(method, tmp_path_factory):
    model = LONGER[method]
    whole, tmp_path = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("killed")
    train_model(*in_store(whole), model)
    checkpoint = tmp_path / "models" / model.id / "checkpoint.pt"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHILD, str(tmp_path), method]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    until = time.monotonic() + 60
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert checkpoint.exists() and not Store(tmp_path).has_part("models", model.id)
    assert train_model(*in_store(tmp_path, 1e-9), model) == "trained"
    assert log(tmp_path, model).count("training from step") == 2
    assert weights(tmp_path, model) == weights(whole, model)
    curves = Store(tmp_path).read("curves"), Store(whole).read("curves")
    assert curves[0].equals(curves[1])
    assert not checkpoint.exists()


KILLS = 10

OFTEN = """
import sys
from dataclasses import replace
from pathlib import Path
from tests.tasks.made_models import changed
from tests.tasks.test_train import LONGER, in_store
from tasks.train import train_model
model = changed(LONGER["beta_vae"], method=sys.argv[2], steps=1200)
print("begins", flush=True)
print(train_model(*in_store(Path(sys.argv[1]), 1e-9), model), flush=True)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("method", ["beta_vae", "factor_vae"])
def test_killed_ten_times_at_random_moments_gives_the_same_bytes(method, tmp_path):
    model = changed(LONGER["beta_vae"], method=method, steps=1200)
    train_model(*in_store(tmp_path / "whole"), model)
    command = [sys.executable, "-c", OFTEN, str(tmp_path / "killed"), method]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    moments = np.random.default_rng().uniform(0, 0.7, size=KILLS)  # of nobody's choice
    print("killed after", moments.round(3).tolist())
    for moment in moments:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"begins\n"
        time.sleep(moment)
        assert process.poll() is None, "it was too quick to be killed"
        process.kill()
        process.wait()
    again = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert again.stdout.split() == ["begins", "trained"], again.stderr
    killed = tmp_path / "killed"
    assert weights(killed, model) == weights(tmp_path / "whole", model)
    assert Store(killed).read("curves").equals(Store(tmp_path / "whole").read("curves"))
    assert not list(killed.rglob("checkpoint*")) and not list(killed.rglob("*.tmp"))


class Stop(BaseException):
    """Ends the training as the end of the process would."""


def interrupted(model: Model, folder: Path, monkeypatch, chunks: int = 1) -> bytes:
    """Leave a checkpoint in the folder, and return it."""
    save = tasks.train._Attempt._checkpoint_if_due

    def stop(self, training):
        save(self, training)
        if training.done >= 20 * chunks:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(tasks.train._Attempt, "_checkpoint_if_due", stop)
        with pytest.raises(Stop):
            train_model(*in_store(folder, 1e-9), model)
    return Store(folder).read_bytes("models", model.id, "checkpoint.pt")


RESUMED = """
import sys
from pathlib import Path
from tests.tasks.test_train import MODEL, in_store
from tasks.train import train_model
for folder in sys.argv[1:]:
    train_model(*in_store(Path(folder)), MODEL)
"""


@pytest.mark.skipif(
    not instruction_set().endswith("AVX-512"), reason="another machine is made of this one"
)
def test_no_model_has_steps_of_two_instruction_sets(undisturbed, tmp_path, monkeypatch):
    """A machine without AVX-512 finds a checkpoint of one with it: the model starts anew there."""
    interrupted(MODEL, tmp_path / "moved", monkeypatch)
    without = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", RESUMED, str(tmp_path / "moved"), str(tmp_path / "stayed")]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **without}, check=True)
    assert outcome(tmp_path / "moved")["instructions"] == "x86_64, AVX2"
    assert weights(tmp_path / "moved") == weights(tmp_path / "stayed") != weights(undisturbed)
    assert outcome(undisturbed)["instructions"] == "x86_64, AVX-512"
    assert (
        "the checkpoint of step 20 is not used: it was made with x86_64, AVX-512, this machine has "
        "x86_64, AVX2"
    ) in log(tmp_path / "moved")
    assert "training from step 0 of 50" in log(tmp_path / "moved").splitlines()[-2]


def test_a_checkpoint_of_before_instruction_sets_is_continued(undisturbed, tmp_path, monkeypatch):
    """Nobody knows with which instructions its steps were done, so the row names none."""
    content = interrupted(MODEL, tmp_path, monkeypatch)[DIGEST:]
    state = torch.load(io.BytesIO(content), weights_only=True)
    del state["instructions"]
    older = io.BytesIO()
    torch.save(state, older)
    Checkpoints(Store(tmp_path), MODEL.id).save(older.getvalue())
    assert train_model(*in_store(tmp_path), MODEL) == "trained"
    assert "training from step 20 of 50" in log(tmp_path).splitlines()[-2]
    assert outcome(tmp_path)["instructions"] is None
    assert weights(tmp_path) == weights(undisturbed)


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].has_posterior])
def test_training_continues_from_a_checkpoint(method, tmp_path, monkeypatch):
    model = replace(MODEL, method=method)
    interrupted(model, tmp_path, monkeypatch, chunks=2)
    steps, optimise = [], TrainingModule.optimise
    monkeypatch.setattr(
        TrainingModule, "optimise", lambda self, step: (steps.append(step), optimise(self, step))[1]
    )
    assert train_model(*in_store(tmp_path), model) == "trained"
    assert steps == list(range(40, 50))
    train_model(*in_store(tmp_path / "whole"), model)
    assert weights(tmp_path, model) == weights(tmp_path / "whole", model)


@pytest.mark.parametrize("damage", ["short", "empty", "noise", "another model's", "torn inside"])
def test_the_steps_of_a_damaged_checkpoint_are_repeated(damage, undisturbed, tmp_path, monkeypatch):
    whole = interrupted(MODEL, tmp_path, monkeypatch)
    if damage == "another model's":
        torn = interrupted(replace(MODEL, latents=5), tmp_path / "other", monkeypatch)
    else:
        torn = {
            "short": whole[: len(whole) // 2],
            "empty": b"",
            "noise": b"\x80\x02}q\x00." * 50,
            "torn inside": whole[:3000] + b"\xff" * 200 + whole[3200:],
        }[damage]
    Store(tmp_path).write_bytes(torn, "models", MODEL.id, "checkpoint.pt")
    assert not Store(tmp_path).exists("models", MODEL.id, "checkpoint-before.pt")
    assert train_model(*in_store(tmp_path), MODEL) == "trained"
    assert weights(tmp_path) == weights(undisturbed)
    assert Store(tmp_path).read("curves").equals(Store(undisturbed).read("curves"))


def test_training_continues_from_the_checkpoint_before_a_damaged_one(
    undisturbed, tmp_path, monkeypatch
):
    whole = interrupted(MODEL, tmp_path, monkeypatch, chunks=2)
    Store(tmp_path).write_bytes(whole[:-1] + b"!", "models", MODEL.id, "checkpoint.pt")
    steps, optimise = [], TrainingModule.optimise
    monkeypatch.setattr(
        TrainingModule, "optimise", lambda self, step: (steps.append(step), optimise(self, step))[1]
    )
    assert train_model(*in_store(tmp_path), MODEL) == "trained"
    assert steps == list(range(20, 50)), "the damaged one was of step 40, the one before of 20"
    assert weights(tmp_path) == weights(undisturbed)
    assert not list(tmp_path.rglob("checkpoint*"))


@pytest.mark.parametrize(("every", "saved"), [(20, 2), (40, 1), (None, 0)])
def test_a_checkpoint_is_written_after_so_many_steps(every, saved, tmp_path, monkeypatch):
    count = []
    monkeypatch.setattr(
        tasks.checkpoints.Checkpoints, "save", lambda self, content: count.append(1)
    )
    train_model(*in_store(tmp_path, steps=every), MODEL)
    assert len(count) == saved


def test_a_diverged_model_is_a_row_with_its_reason(tmp_path):
    wild = changed(MODEL, learning_rate=1e20)
    assert train_model(*in_store(tmp_path), wild) == "diverged"
    row = outcome(tmp_path, wild)
    assert row["status"] == "diverged" and "at step" in row["reason"]
    assert row["kl_per_latent"] == [] and row["elbo"] is None
    assert Store(tmp_path).read("representations").num_rows == 0
    assert train_model(*in_store(tmp_path), wild) == "diverged"


def test_weights_that_are_not_finite_after_the_last_step_are_a_diverged_model(
    tmp_path, monkeypatch
):
    optimise = TrainingModule.optimise

    def last(self, step):
        losses = optimise(self, step)
        if step == 0:
            next(self.vae.encoder.mean.parameters()).data.fill_(float("nan"))
        return losses

    monkeypatch.setattr(TrainingModule, "optimise", last)
    short = changed(MODEL, steps=1)
    assert train_model(*in_store(tmp_path), short) == "diverged"
    assert "nan" in outcome(tmp_path, short)["reason"]
    assert Store(tmp_path).names("tables") == ["models"]


def test_an_exception_gives_a_failed_row_and_a_traceback_in_the_log(tmp_path, monkeypatch):
    def broken(self, step):
        raise RuntimeError("the roof leaks")

    monkeypatch.setattr(TrainingModule, "optimise", broken)
    assert train_model(*in_store(tmp_path), MODEL) == "failed"
    row = outcome(tmp_path)
    assert (row["status"], row["reason"]) == ("failed", "RuntimeError: the roof leaks")
    text = log(tmp_path)
    assert "Traceback" in text and "in broken" in text and "the roof leaks" in text
    last = text.splitlines()[-1]
    assert f" {os.getpid()}: failed: RuntimeError: the roof leaks, " in last
