"""What a machine must be able to do before a model is trained on it, in the model's precision."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import torch

from data.base.cache import folder
from infra import processor
from infra.new_file import written_whole
from models.layer_check import check_layers
from models.network import Network
from models.training import PRECISIONS
from tasks.study.precision import check_precision
from tasks.study.spec import Training

# What tells processors apart: x86 has the first two, Arm the others.
IDENTITY = ("model name", "flags", "Features", "CPU implementer", "CPU part")


def check_machine(network: Network, training: Training) -> None:
    """Raise if this processor lacks the precision, or computes a layer of the network wrongly. The
    layers are checked once on every machine: a file in the cache says which were right."""
    check_precision(training)
    passed = folder() / f"layers-{_key(network, training)}.checked"
    if passed.is_file():
        return
    check_layers(network, PRECISIONS[training.precision])
    with suppress(OSError):  # if it cannot be kept, the next model is checked again
        passed.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(passed) as partial:
            partial.write_text(f"{network}\n{training.precision}\ntorch {torch.__version__}\n")


def _key(network: Network, training: Training) -> str:
    """Of all that the check depends on: layers, precision, version of torch, processor."""
    known = processor.facts()
    facts = [
        str(network),
        f"fast {training.fast}, {training.precision}",
        torch.__version__,
        processor.ARCHITECTURE,
        *(known.get(name, "") for name in IDENTITY),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
