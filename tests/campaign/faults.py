"""The faults: each waits for its moment, strikes, and mends what would stay broken.

A fault is a generator that is asked again and again: it yields `WAITING` until it strikes, then
`STRUCK`, and returns when it is over. It raises `Lost` if what follows at once is wrong.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from tests.campaign.family import send
from tests.campaign.stage import ENDING_SECONDS, Driver, Lost, Stage

WAITING, STRUCK = "waiting", "struck"
HOUR = 3600
Fault = Callable[[Stage, random.Random], Iterator[str]]


def worker_killed(kind: str, stage: Stage, chance: random.Random) -> Iterator[str]:
    pid = yield from _worker(stage, chance, kind)
    send([pid])
    yield STRUCK


def worker_hangs(stage: Stage, chance: random.Random) -> Iterator[str]:
    """A stopped worker: only its time limit can end it."""
    pid = yield from _worker(stage, chance, "train", "score")
    send([pid], signal.SIGSTOP)
    yield STRUCK
    yield from _until(
        lambda: pid not in stage.workers(""), 240, "a worker that hangs was not ended"
    )


def checkpoint_damaged(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Bytes in the middle of a model's newest checkpoint, just before its worker dies."""
    while True:
        for model, pid in _trainers(stage).items():
            place = stage.store / "models" / model / "checkpoint.pt"
            send([pid], signal.SIGSTOP)  # or it might replace what is being damaged
            with suppress(FileNotFoundError):
                content = bytearray(place.read_bytes())
                middle = chance.randrange(len(content))
                content[middle : middle + 64] = bytes(64)
                place.write_bytes(content)
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
            trainers = _trainers(stage)
            model = chance.choice(sorted(trainers)) if trainers else ""
        if pid := _trainers(stage).get(model):
            send([pid])
            killed = True
        yield STRUCK if killed else WAITING
        status = stage.outcome(model)
        if time.monotonic() > deadline:
            raise Lost("a poison model was not given up")
    if "worker died" not in status[1]:
        raise Lost(f"a poison model ended as {status}")


def node_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from _worker(stage, chance, "train", "score")
    stage.cluster.kill("127.0.0.3")
    yield STRUCK
    yield from _for(chance.uniform(3, 12))
    yield from _meanwhile(stage.cluster.start_node)


def head_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    driver = yield from _driver_at_work(stage)
    stage.cluster.kill("127.0.0.2")
    yield STRUCK
    yield from _until(
        lambda: driver.code is not None, ENDING_SECONDS, "a driver continues without a cluster"
    )
    yield from _meanwhile(stage.cluster.start)


def driver_signalled(number: int, stage: Stage, chance: random.Random) -> Iterator[str]:
    """The driver gets a signal at any moment, also while it starts."""
    driver = yield from _driver(stage)
    yield from _waits(chance.uniform(0, 25))
    if driver.code is not None:
        driver = yield from _driver(stage)
    send([driver.pid], number)
    yield STRUCK
    yield from _until(
        lambda: driver.code is not None, ENDING_SECONDS, f"a driver outlived {number} too long"
    )


def driver_paused(stage: Stage, chance: random.Random) -> Iterator[str]:
    """The driver is stopped for a while, as on a machine that is suspended."""
    driver = yield from _driver_at_work(stage)
    send([driver.pid], signal.SIGSTOP)
    yield STRUCK
    yield from _for(chance.uniform(5, 40))
    send([driver.pid], signal.SIGCONT)


def prefect_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from _driver(stage)
    yield from _waits(chance.uniform(0, 25))
    stage.server.kill()
    yield STRUCK
    yield from _for(chance.uniform(1, 15))
    yield from _meanwhile(stage.server.start)


def database_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from _driver(stage)
    yield from _waits(chance.uniform(0, 25))
    stage.database.stop()
    yield STRUCK
    yield from _for(chance.uniform(1, 15))
    yield from _meanwhile(stage.database.start)
    yield from _meanwhile(stage.server.wait)


def power_cut(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Driver, cluster, server and database are killed in one moment."""
    driver = yield from _driver_at_work(stage)
    send([driver.pid])
    stage.cluster.kill()
    stage.server.kill()
    stage.database.stop()
    yield STRUCK
    yield from _meanwhile(stage.database.start)
    yield from _meanwhile(stage.server.start)
    yield from _meanwhile(stage.cluster.start)


def disk_full(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from _worker(stage, chance, "train", "score")
    stage.disk.fill()
    yield STRUCK
    until = time.monotonic() + chance.uniform(4, 15)
    while time.monotonic() < until:
        stage.disk.fill()  # what was freed meanwhile, too
        yield STRUCK
    stage.disk.free()


def disk_read_only(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from _worker(stage, chance, "train", "score")
    while not stage.disk.protect():
        yield WAITING
    yield STRUCK
    yield from _for(chance.uniform(4, 15))
    stage.disk.release()


def second_driver(stage: Stage, chance: random.Random) -> Iterator[str]:
    """A second driver is refused in a line that names the first, as long as that one runs."""
    first = yield from _driver_at_work(stage)
    before, second = stage.disturbed, stage.start_driver()
    yield STRUCK
    yield from _until(lambda: second.code is not None, 600, "a second driver did not end")
    calm = first.code is None and stage.calm_since(before)
    if calm and (
        second.code != 2 or "held by" not in second.output or second.output.count("\n") != 1
    ):
        raise Lost(f"a second driver ended with {second.code}: {second.output}")


def joining_driver(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from _driver_at_work(stage)
    before, second = stage.disturbed, stage.start_driver("--join")
    yield STRUCK
    yield from _until(lambda: second.code is not None, 600, "a driver that joined did not end")
    if second.code != 0 and stage.calm_since(before):
        raise Lost(f"a driver that joined ended with {second.code}: {second.output}")


def clock_jumps(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield from _driver(stage)
    yield from _waits(chance.uniform(0, 15))
    stage.clock.jump(chance.choice((-30, -5, 2, 26)) * HOUR)
    yield STRUCK
    yield from _for(chance.uniform(5, 15))
    stage.clock.jump(chance.choice((-1, 0, 1)) * HOUR)


FAULTS: dict[str, Fault] = {
    "worker killed: train": partial(worker_killed, "train"),
    "worker killed: score": partial(worker_killed, "score"),
    "worker killed: compare": partial(worker_killed, "compare"),
    "worker hangs": worker_hangs,
    "checkpoint damaged": checkpoint_damaged,
    "poison model": poison_model,
    "node killed": node_killed,
    "Ray head killed": head_killed,
    "driver killed": partial(driver_signalled, signal.SIGKILL),
    "driver interrupted": partial(driver_signalled, signal.SIGINT),
    "driver terminated": partial(driver_signalled, signal.SIGTERM),
    "driver paused": driver_paused,
    "Prefect server killed": prefect_killed,
    "PostgreSQL killed": database_killed,
    "power cut": power_cut,
    "disk full": disk_full,
    "disk read-only": disk_read_only,
    "second driver": second_driver,
    "driver that joins": joining_driver,
    "clock jumps": clock_jumps,
}


ALONE = (  # not beside each other: each takes away, or holds up, what another one works on
    *("node killed", "Ray head killed", "power cut", "disk full", "disk read-only"),
    *("Prefect server killed", "PostgreSQL killed", "checkpoint damaged"),
    *("worker hangs", "poison model"),  # and nothing else is to end the worker that hangs
    *("driver killed", "driver interrupted", "driver terminated", "driver paused"),
)


def left_out(stage: Stage) -> dict[str, str]:
    """Faults that cannot be made here, and why."""
    reasons = {}
    if not stage.disk.mounted:
        reasons |= dict.fromkeys(("disk full", "disk read-only"), "mounting is not allowed here")
    if not stage.clock.there:
        reasons["clock jumps"] = "no C compiler"
    return reasons


# moments --------------------------------------------------------------------------------------


def _worker(stage: Stage, chance: random.Random, *kinds: str) -> Generator[str, None, int]:
    """A worker that runs such a task, some moments after it was seen doing so."""
    while True:
        if stage.workers(*kinds):
            yield from _waits(chance.uniform(0, 0.3 if kinds == ("compare",) else 3))
            if pids := stage.workers(*kinds):
                return chance.choice(pids)
        yield WAITING


def _driver(stage: Stage) -> Generator[str, None, Driver]:
    while stage.driver is None or stage.driver.code is not None:
        yield WAITING
    return stage.driver


def _driver_at_work(stage: Stage) -> Generator[str, None, Driver]:
    while True:
        driver = yield from _driver(stage)
        if stage.workers("train", "score") and [*stage.store.glob("drivers/*.json")]:
            return driver
        yield WAITING


def _waits(seconds: float) -> Iterator[str]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield WAITING


def _for(seconds: float) -> Iterator[str]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield STRUCK


def _meanwhile(action: Callable[[], None]) -> Iterator[str]:
    """Run what takes long in a thread, while the other faults continue."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(action)
        while not done.done():
            yield STRUCK
        done.result()


def _until(done: Callable[[], bool], seconds: float, otherwise: str) -> Iterator[str]:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise Lost(otherwise)
        yield STRUCK


def _trainers(stage: Stage) -> dict[str, int]:
    """Models under way and who trains them, by the last line of their logs with a pid."""
    pid_of, workers = {}, stage.workers("train")
    for log in stage.store.glob("models/*/log.txt"):
        with suppress(FileNotFoundError):
            pids = re.findall(r"^\S+ \S+ (\d+): ", log.read_text(), re.MULTILINE)
            if pids and int(pids[-1]) in workers:
                pid_of[log.parent.name] = int(pids[-1])
    return pid_of
