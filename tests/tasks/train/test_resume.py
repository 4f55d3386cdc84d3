"""An interrupted training continues from its checkpoint, and gives the same weights."""

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tasks.train
from infra.store import Store
from models import METHODS
from models.instructions import instruction_set
from models.training import TrainingModule
from tasks.checkpoints import DIGEST, Checkpoints
from tasks.lost_gpu import gpu_is_lost
from tasks.study.model import Model
from tasks.train import train_model
from tests.tasks.made_models import changed
from tests.tasks.train.training import (
    MODEL,
    ROOT,
    in_store,
    log,
    outcome,
    weights,
)

# So many steps that they are killed on the way, also on a busy machine.
LONGER = {
    "beta_vae": changed(MODEL, steps=240),
    "infogan": changed(method="infogan", architecture="resnet_small", batch_size=2, steps=40),
}

CHILD = """
import sys
from pathlib import Path
from tests.tasks.made_models import changed
from tests.tasks.train.test_resume import LONGER, in_store
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
from tests.tasks.train.test_resume import LONGER, in_store
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
from tests.tasks.train.training import MODEL, in_store
from tasks.train import train_model
for folder in sys.argv[1:]:
    train_model(*in_store(Path(folder)), MODEL)
"""


@pytest.mark.skipif(
    not instruction_set().endswith("AVX-512"), reason="another machine is made of this one"
)
def test_no_model_has_steps_of_two_instruction_sets(undisturbed, tmp_path, monkeypatch):
    """A machine without AVX-512 does not use the checkpoint of a machine that has it: it trains the
    model from the first step."""
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


LOSES_ITS_GPU = """
import sys
from pathlib import Path
import torch
from models.training import TrainingModule
from tests.tasks.train.training import MODEL, in_store
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
