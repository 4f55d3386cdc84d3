"""Whether this machine's processor has the precision that a study trains in."""

from __future__ import annotations

from infra.errors import WrongInput
from infra.processor import has_bfloat16
from infra.runtime import has_nvidia_gpu
from tasks.study.spec import Training


def check_precision(training: Training, on_gpu: bool = False) -> None:
    """Raise if models would be trained in bfloat16 on a processor that has no instructions for it:
    torch then computes it by other means, many times as slowly as float32."""
    if training.precision != "bfloat16" or training.slow_bfloat16 or on_gpu:
        return
    if has_bfloat16() is False:
        accepted = "float32 on this machine, whose processor has no bfloat16 instructions; or "
        raise WrongInput(
            "training.precision",
            training.precision,
            f"{accepted}training.slow_bfloat16: true, to train many times as slowly",
        )


def check_local_precision(training: Training) -> None:
    """The same before a run starts; a machine with a GPU is left to its workers, which know."""
    check_precision(training, on_gpu=training.gpus_per_model != 0 and has_nvidia_gpu())
