"""Faults of processes, servers and disks: each waits for its moment, strikes, and mends what would
stay broken. Others are in files of their own."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

from tests.campaign.family import send
from tests.campaign.moments import (
    STRUCK,
    WAITING,
    any_driver,
    driver_at_work,
    lasts,
    meanwhile,
    trainers,
    until,
    waits,
    worker_at_work,
)
from tests.campaign.stage import ENDING_SECONDS, Lost, Stage

HOUR = 3600


def worker_killed(kind: str, stage: Stage, chance: random.Random) -> Iterator[str]:
    pid = yield from worker_at_work(stage, chance, kind)
    send([pid])
    yield STRUCK


def worker_hangs(stage: Stage, chance: random.Random) -> Iterator[str]:
    """A stopped worker: only its time limit can end it."""
    pid = yield from worker_at_work(stage, chance, "train", "score")
    send([pid], signal.SIGSTOP)
    yield STRUCK
    yield from until(lambda: pid not in stage.workers(""), 240, "a worker that hangs was not ended")


def checkpoint_damaged(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Bytes in the middle of a model's newest checkpoint, just before its worker dies."""
    while True:
        for model, pid in trainers(stage).items():
            place = ("models", model, "checkpoint.pt")
            send([pid], signal.SIGSTOP)  # or it might replace what is being damaged
            with suppress(FileNotFoundError):
                content = bytearray(stage.store.read_bytes(*place))
                middle = chance.randrange(len(content))
                content[middle : middle + 64] = bytes(64)
                stage.store.write_bytes(bytes(content), *place)
                send([pid])
                yield STRUCK
                return
            send([pid], signal.SIGCONT)
        yield WAITING


def poison_model(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Every worker that trains this model dies, until the run gives the model up and continues."""
    deadline = time.monotonic() + 900
    killed, model, status = False, "", ("", "")
    while status[0] != "failed":
        if status[0] or not model:  # it was trained before anybody could strike
            under_way = trainers(stage)
            model = chance.choice(sorted(under_way)) if under_way else ""
        if pid := trainers(stage).get(model):
            send([pid])
            killed = True
        yield STRUCK if killed else WAITING
        status = stage.outcome(model)
        if time.monotonic() > deadline:
            raise Lost("a poison model was not given up")
    if "worker died" not in status[1]:
        raise Lost(f"a poison model ended as {status}")


def node_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from worker_at_work(stage, chance, "train", "score")
    stage.cluster.kill(stage.network.node)
    yield STRUCK
    yield from lasts(chance.uniform(3, 12))
    yield from meanwhile(stage.cluster.start_node)


def head_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    driver = yield from driver_at_work(stage)
    stage.cluster.kill(stage.network.head)
    yield STRUCK
    yield from until(
        lambda: driver.code is not None, ENDING_SECONDS, "a driver continues without a cluster"
    )
    yield from meanwhile(stage.cluster.start)


def driver_signalled(number: int, stage: Stage, chance: random.Random) -> Iterator[str]:
    """The driver gets a signal at any moment, also while it starts."""
    driver = yield from any_driver(stage)
    yield from waits(chance.uniform(0, 25))
    if driver.code is not None:
        driver = yield from any_driver(stage)
    send([driver.pid], number)
    yield STRUCK
    yield from until(
        lambda: driver.code is not None, ENDING_SECONDS, f"a driver outlived {number} too long"
    )


def driver_paused(stage: Stage, chance: random.Random) -> Iterator[str]:
    """The driver is stopped for a while, as on a machine that is suspended."""
    driver = yield from driver_at_work(stage)
    send([driver.pid], signal.SIGSTOP)
    yield STRUCK
    yield from lasts(chance.uniform(5, 40))
    send([driver.pid], signal.SIGCONT)


def prefect_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from any_driver(stage)
    yield from waits(chance.uniform(0, 25))
    stage.server.kill()
    yield STRUCK
    yield from lasts(chance.uniform(1, 15))
    yield from meanwhile(stage.server.start)


def database_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from any_driver(stage)
    yield from waits(chance.uniform(0, 25))
    stage.database.stop()
    yield STRUCK
    yield from lasts(chance.uniform(1, 15))
    yield from meanwhile(stage.database.start)
    yield from meanwhile(stage.server.wait)


def power_cut(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Driver, cluster, server and database are killed in one moment."""
    driver = yield from driver_at_work(stage)
    send([driver.pid])
    stage.cluster.kill()
    stage.server.kill()
    stage.database.stop()
    yield STRUCK
    yield from meanwhile(stage.database.start)
    yield from meanwhile(stage.server.start)
    yield from meanwhile(stage.cluster.start)


def disk_full(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from worker_at_work(stage, chance, "train", "score")
    stage.disk.fill()
    yield STRUCK
    ends = time.monotonic() + chance.uniform(4, 15)
    while time.monotonic() < ends:
        stage.disk.fill()  # what was freed meanwhile, too
        yield STRUCK
    stage.disk.free()


def disk_read_only(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from worker_at_work(stage, chance, "train", "score")
    while not stage.disk.protect():
        yield WAITING
    yield STRUCK
    yield from lasts(chance.uniform(4, 15))
    stage.disk.release()


def second_driver(stage: Stage, chance: random.Random) -> Iterator[str]:
    """A second driver is refused in a line that names the first, as long as that one runs."""
    first = yield from driver_at_work(stage)
    before, second = stage.disturbed, stage.start_driver()
    yield STRUCK
    yield from until(lambda: second.code is not None, 600, "a second driver did not end")
    calm = first.code is None and stage.calm_since(before)
    if calm and (
        second.code != 2 or "held by" not in second.output or second.output.count("\n") != 1
    ):
        raise Lost(f"a second driver ended with {second.code}: {second.output}")


def joining_driver(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from driver_at_work(stage)
    before, second = stage.disturbed, stage.start_driver("--join")
    yield STRUCK
    yield from until(lambda: second.code is not None, 600, "a driver that joined did not end")
    if second.code != 0 and stage.calm_since(before):
        raise Lost(f"a driver that joined ended with {second.code}: {second.output}")


def clock_jumps(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from any_driver(stage)
    yield from waits(chance.uniform(0, 15))
    stage.clock.jump(chance.choice((-30, -5, 2, 26)) * HOUR)
    yield STRUCK
    yield from lasts(chance.uniform(5, 15))
    stage.clock.jump(chance.choice((-1, 0, 1)) * HOUR)
