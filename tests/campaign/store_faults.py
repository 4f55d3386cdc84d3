"""Faults of what holds the results: a bucket on a bad day, a bit that flips."""

from __future__ import annotations

import random
from collections.abc import Iterator

from infra.tables import TABLES
from tests.campaign.family import send
from tests.campaign.moments import STRUCK, WAITING, any_driver, lasts, waits, worker_at_work
from tests.campaign.stage import Stage


def bad_day(kind: str, stage: Stage, chance: random.Random) -> Iterator[str]:
    """The object store answers so for a while, to everybody."""
    yield from worker_at_work(stage, chance, "train", "score")
    before = stage.bucket.spoilt
    stage.bucket.bad_day = kind
    while stage.bucket.spoilt == before:
        yield WAITING
    yield STRUCK
    yield from lasts(chance.uniform(4, 25))
    stage.bucket.bad_day = ""


def bit_flipped(stage: Stage, chance: random.Random) -> Iterator[str]:
    """The driver is killed, and before the next one starts a bit of a part of a table flips.

    One time in three in the part's footer, which no checksum of Parquet covers. The next driver is
    told to look for damage, as after a disk that made errors.
    """
    yield from any_driver(stage)
    yield from waits(chance.uniform(0, 20))
    table = chance.choice(list(TABLES))
    while not stage.store.parts(table):
        yield WAITING
        if chance.random() < 0.05:  # dynamics never has any
            table = chance.choice(list(TABLES))
    driver = yield from any_driver(stage)
    send([driver.pid])
    driver.process.wait()
    while stage.workers("train", "score", "compare"):
        yield STRUCK  # they end with their driver
    parts = stage.store.parts(table)
    if not parts:  # they were merged into another, which the kill prevented
        return
    key = chance.choice(parts)
    place = ("tables", table, f"{key}.parquet")
    content = bytearray(stage.store.read_bytes(*place))
    footer = int.from_bytes(content[-8:-4], "little") + 8
    first = len(content) - footer if chance.random() < 1 / 3 else 0
    where = chance.randrange(first, len(content))
    content[where] ^= 1 << chance.randrange(8)
    stage.store.write_bytes(bytes(content), *place)
    stage.flipped.add((table, key))
    stage.say(f"    bit of byte {where} of {len(content)} of {'/'.join(place)}")
    yield STRUCK
