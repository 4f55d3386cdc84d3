"""Faults of machines: a GPU that is lost, a node with another instruction set."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from infra import processor
from tests.campaign.moments import (
    STRUCK,
    WAITING,
    lasts,
    meanwhile,
    until,
    worker_at_work,
)
from tests.campaign.stage import Stage
from tests.processes import is_alive

# What makes torch and its oneDNN compute as on a machine without AVX-512.
OTHER_TYPE = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}


def can_pretend() -> bool:
    return processor.widest_vectors(processor.flags()) == "AVX-512"


def gpu_lost(stage: Stage, chance: random.Random) -> Iterator[str]:
    """A step raises what torch raises when a GPU is lost, and so does every later one of that
    process: it must end, and not by itself."""
    yield from worker_at_work(stage, chance, "train")
    stage.lose_gpu.touch()
    while not (taken := list(stage.lose_gpu.parent.glob(f"{stage.lose_gpu.name}-*"))):
        yield WAITING
    yield STRUCK
    pid = int(taken[0].name.rpartition("-")[2])
    taken[0].unlink()
    yield from until(lambda: not is_alive(pid), 60, "a worker without its GPU was not ended")


def node_of_another_type(stage: Stage, chance: random.Random) -> Iterator[str]:
    """A node is replaced by one with another instruction set, and that one by the first again."""
    yield from worker_at_work(stage, chance, "train")
    stage.mixed = True
    types: tuple[dict[str, str], ...] = (OTHER_TYPE, {})
    for switches in types:
        stage.cluster.kill(stage.network.node)
        yield STRUCK
        yield from meanwhile(partial(stage.cluster.start_node, switches))
        yield from lasts(chance.uniform(20, 40) if switches else 0)
