"""Faults between the nodes: a network that is gone, and calls of Ray that fail or come late."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping

from tests.campaign.moments import STRUCK, driver_at_work, lasts, meanwhile, until, worker_at_work
from tests.campaign.stage import ENDING_SECONDS, Stage

NOTICING_SECONDS = 15.0  # in which a node learns that it was given up, and ends
# Ray's own switches for tests (ray_config_def.h), read by each process of the cluster at its start:
# percentages of calls that are not sent, whose answer is lost, and of which an error comes at once
# although they are sent; and microseconds by which calls are handled late. Processes of one machine
# always reach each other, as Ray expects. Not all events are late ("*"): then an assertion of Ray
# 2.60 fails (object_manager.cc), and the raylet ends as it starts.
FAILURES = {
    "RAY_testing_rpc_failure_avoid_intra_node_failures": "true",
    "RAY_testing_rpc_failure": json.dumps(
        {
            "*": {
                "num_failures": -1,
                "req_failure_prob": 10,
                "resp_failure_prob": 10,
                "in_flight_failure_prob": 5,
            }
        }
    ),
}
LATE = (
    "NodeManagerService.grpc_server.RequestWorkerLease",
    "NodeManagerService.grpc_server.ReturnWorkerLease",
    "CoreWorkerService.grpc_server.PushTask",
    "NodeInfoGcsService.grpc_server.CheckAlive",
    "NodeInfoGcsService.grpc_server.GetAllNodeInfo",
)
DELAYS = {"RAY_testing_asio_delay_us": ",".join(f"{call}=1000:1000000" for call in LATE)}


def node_cut_off(seconds: float, stage: Stage, chance: random.Random) -> Iterator[str]:
    """One of the two nodes can reach nothing and nobody can reach it. Its workers go on."""
    yield from worker_at_work(stage, chance, "train", "score")
    stage.network.cut()
    yield STRUCK
    yield from lasts(seconds)
    stage.network.mend()
    yield from lasts(NOTICING_SECONDS)
    if stage.cluster.has_ended(stage.network.node):
        yield from meanwhile(stage.cluster.start_node)


def ray_with(switches: Mapping[str, str], stage: Stage, chance: random.Random) -> Iterator[str]:
    """The cluster starts anew with these switches, works for a while, and starts without them."""
    yield from driver_at_work(stage)
    yield from _restarted(stage, switches)
    yield from _as_long_as_it_lasts(driver_at_work(stage), stage)
    yield from _as_long_as_it_lasts(lasts(chance.uniform(20, 40)), stage)
    yield from _restarted(stage, {})


def _as_long_as_it_lasts(steps: Iterator[object], stage: Stage) -> Iterator[str]:
    """With these switches Ray's own checks fail at times, and its head ends by itself."""
    for _ in steps:
        if stage.cluster.has_ended(stage.network.head):
            return
        yield STRUCK


def _restarted(stage: Stage, switches: Mapping[str, str]) -> Iterator[str]:
    driver = stage.driver
    stage.cluster.kill()
    stage.cluster.switches = dict(switches)
    yield STRUCK
    yield from until(
        lambda: driver is None or driver.code is not None,
        ENDING_SECONDS,
        "a driver continues without a cluster",
    )
    yield from meanwhile(stage.cluster.start)
