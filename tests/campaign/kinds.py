"""All kinds of faults: names, which cannot be together, which need a bucket or cannot be made."""

from __future__ import annotations

import signal
from functools import partial

from tests.campaign import bucket, faults, machine_faults, network_faults, store_faults
from tests.campaign.moments import Fault
from tests.campaign.stage import Stage

SHORT, LONG = 5.0, 60.0  # seconds without a network

IN_BUCKET: dict[str, Fault] = {  # in rounds of their own, whose store is a bucket
    "bucket answers 503": partial(store_faults.bad_day, bucket.REFUSED),
    "bucket is silent": partial(store_faults.bad_day, bucket.SILENT),
    "bucket gives half": partial(store_faults.bad_day, bucket.HALF),
    "bucket is late": partial(store_faults.bad_day, bucket.LATE),
}

FAULTS: dict[str, Fault] = {
    "worker killed: train": partial(faults.worker_killed, "train"),
    "worker killed: score": partial(faults.worker_killed, "score"),
    "worker killed: compare": partial(faults.worker_killed, "compare"),
    "worker hangs": faults.worker_hangs,
    "checkpoint damaged": faults.checkpoint_damaged,
    "poison model": faults.poison_model,
    "GPU lost": machine_faults.gpu_lost,
    "node killed": faults.node_killed,
    "node of another type": machine_faults.node_of_another_type,
    "node cut off 5 s": partial(network_faults.node_cut_off, SHORT),
    "node cut off 60 s": partial(network_faults.node_cut_off, LONG),
    "Ray head killed": faults.head_killed,
    "Ray calls fail": partial(network_faults.ray_with, network_faults.FAILURES),
    "Ray calls late": partial(network_faults.ray_with, network_faults.DELAYS),
    "driver killed": partial(faults.driver_signalled, signal.SIGKILL),
    "driver interrupted": partial(faults.driver_signalled, signal.SIGINT),
    "driver terminated": partial(faults.driver_signalled, signal.SIGTERM),
    "driver paused": faults.driver_paused,
    "Prefect server killed": faults.prefect_killed,
    "PostgreSQL killed": faults.database_killed,
    "power cut": faults.power_cut,
    "disk full": faults.disk_full,
    "disk read-only": faults.disk_read_only,
    "bit flipped": store_faults.bit_flipped,
    "second driver": faults.second_driver,
    "driver that joins": faults.joining_driver,
    "clock jumps": faults.clock_jumps,
    **IN_BUCKET,
}

ALONE = (  # not beside each other: each takes away, or holds up, what another one works on
    *("node killed", "Ray head killed", "power cut", "disk full", "disk read-only"),
    *("Prefect server killed", "PostgreSQL killed", "checkpoint damaged", "bit flipped"),
    *("worker hangs", "poison model"),  # and nothing else is to end the worker that hangs
    *("driver killed", "driver interrupted", "driver terminated", "driver paused"),
    *("node cut off 5 s", "node cut off 60 s", "node of another type", "GPU lost"),
    *("Ray calls fail", "Ray calls late", *IN_BUCKET),
)


def left_out(stage: Stage) -> dict[str, str]:
    """Faults that cannot be made here, and why."""
    reasons = {}
    if not stage.disk.mounted:
        reasons |= dict.fromkeys(("disk full", "disk read-only"), "mounting is not allowed here")
    if not stage.clock.there:
        reasons["clock jumps"] = "no C compiler"
    if why_not := stage.network.why_not:
        reasons |= dict.fromkeys(("node cut off 5 s", "node cut off 60 s"), why_not)
    if not machine_faults.can_pretend():
        reasons["node of another type"] = "only a processor with AVX-512 can pretend to have none"
    return reasons
