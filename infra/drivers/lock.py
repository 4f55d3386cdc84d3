"""Who works on a store: one driver, or several that joined and share the work by claims.

A driver writes a record when it comes, renews it every few seconds and removes it when it leaves.
A second one is refused while the first is alive; if that one is dead, its record is removed.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from infra.drivers import claims
from infra.drivers.liveness import DRIVERS, PATIENCE, Driver, Life, Watch, as_bytes, myself
from infra.errors import WrongInput
from infra.store import Store

BEAT_SECONDS = 10.0
SETTLE_SECONDS = 2.0  # longer than an object store takes between our look and our record
GIVING_SECONDS = 0.5  # while nobody waits for them, claims are given back together, so often
LOCK = (DRIVERS, ".lock")
SHOWN = 45  # characters of a store's name in a message that must stay one line


class Holder:
    """This driver's place among those that work on a store."""

    def __init__(self, store: Store, beat_seconds: float, say: Callable[[str], None]) -> None:
        self.store, self.beat_seconds, self.say = store, beat_seconds, say
        self.me = myself(uuid.uuid4().hex)
        self.lost = threading.Event()  # others went on without us: this run must end
        self.watch = Watch(store, self.me.id, beat_seconds)
        self._when_lost: Callable[[], None] = lambda: None
        self._claimed: set[str] = set()
        self._owed: set[str] = set()  # claims to give back as soon as the store can be written
        self._claiming = threading.Lock()
        self._began = time.monotonic()
        self._gave_back = 0.0
        self._beside = False  # whether there were others when we last looked
        self._left = threading.Event()
        self._beats = threading.Thread(target=self._beat_on, name="beat", daemon=True)

    @property
    def alone(self) -> bool:
        """Nobody else is known to work on the store, or may do so."""
        found = self.watch.look()
        return not found[Life.ALIVE] and not found[Life.UNKNOWN]

    def claim(self, name: str) -> bool:
        """Whether this driver may do `name` now; raises OSError if the store cannot be written."""
        if self.lost.is_set():
            return False
        with self._claiming:
            if name not in self._claimed:
                try:
                    taken = claims.take(self.store, name, self.me.id, self.watch.is_dead)
                except OSError:
                    self._owed.add(name)  # half of it may stand
                    raise
                if not taken:
                    return False
                self._claimed.add(name)
                self._owed.discard(name)
        return True

    def release(self, name: str) -> None:
        """Let others do it; soon, or as soon as the store can be written."""
        with self._claiming:
            if name in self._claimed:
                self._owed.add(name)
                self._claimed.discard(name)
        if self._beside or time.monotonic() - self._gave_back >= GIVING_SECONDS:
            self._give_back()

    def call_when_lost(self, action: Callable[[], None]) -> None:
        self._when_lost = action
        if self.lost.is_set():
            action()

    # coming and leaving -----------------------------------------------------------------------

    def enter(self, join: bool) -> None:
        """Have a record; raise if others work here and we are not to join them."""
        told: set[str] = set()
        while True:
            with self.store.locked(*LOCK) as one_at_a_time:
                found = self.watch.look()
                for dead in found[Life.DEAD]:
                    self._bury(dead)
                    self.say(f"took over from {dead}, which is gone")
                if found[Life.ALIVE] and not join:
                    raise self._held_by(found[Life.ALIVE][0])
                others = found[Life.ALIVE] + found[Life.UNKNOWN]
                if join or not others:
                    if not others:
                        claims.forget_all(self.store)
                    self._write(settled=one_at_a_time or join)
                    break
            for one in others:
                if one.id not in told:
                    told.add(one.id)
                    wait = PATIENCE * self.beat_seconds
                    self.say(f"waiting up to {wait:g} s to see whether {one} is alive")
            time.sleep(self.beat_seconds / 20)
        self._beside = bool(others)
        for one in others:
            self.say(f"working beside {one}")
        try:
            if not self.me.settled:
                self._settle()
        except BaseException:
            self.leave()
            raise
        self._beats.start()

    def leave(self) -> None:
        """Take the record and the claims away; what cannot be removed looks dead to others."""
        self._left.set()
        if self._beats.is_alive():
            self._beats.join(timeout=self.beat_seconds)
        with self._claiming:
            self._owed |= self._claimed
        self._give_back()
        with suppress(OSError):
            claims.forget(self.store, self.me.id)
            self.store.remove(DRIVERS, f"{self.me.id}.json")

    def _settle(self) -> None:
        """Where nothing keeps two from coming at once, the one with the lower id stays."""
        time.sleep(min(SETTLE_SECONDS, self.beat_seconds))
        found = self.watch.look()
        for one in found[Life.ALIVE] + found[Life.UNKNOWN]:
            if one.settled or one.id < self.me.id:
                raise self._held_by(one)
        self._write(settled=True)

    def _held_by(self, one: Driver) -> WrongInput:
        quiet = self.watch.quiet_for(one)
        sign = f"{quiet:.0f} s ago" if quiet >= 1 else "just now"
        place = str(self.store)
        place = place if len(place) <= SHOWN else "..." + place[3 - SHOWN :]
        return WrongInput(
            "store",
            f"{place}, held by {one} since {_age(one.seconds + quiet)} (last sign {sign})",
            "a store that nobody works on; --join helps the one that runs",
        )

    def _give_back(self) -> None:
        self._gave_back = time.monotonic()
        with self._claiming, suppress(OSError):
            claims.give_back(self.store, sorted(self._owed), self.me.id)
            self._owed.clear()

    def _bury(self, dead: Driver) -> None:
        self.watch.bury(dead)
        claims.forget(self.store, dead.id)

    # beats ------------------------------------------------------------------------------------

    def _beat_on(self) -> None:
        while not self._left.wait(self.beat_seconds):
            try:
                if not self.store.exists(DRIVERS, f"{self.me.id}.json"):
                    self.lost.set()
                    self._when_lost()
                    return
                self._write(settled=True)
            except OSError:  # full, read-only or out of reach: once more at the next beat
                continue  # without a look at the others, who cannot give a sign either
            self._give_back()
            with suppress(OSError):
                found = self.watch.look()
                self._beside = bool(found[Life.ALIVE] + found[Life.UNKNOWN])
                for dead in found[Life.DEAD]:
                    again = dead.id in self.watch.buried
                    self._bury(dead)
                    if not again:
                        self.say(f"{dead} is gone; what it had begun is done here")

    def _write(self, settled: bool) -> None:
        seconds = int(time.monotonic() - self._began)
        self.me = replace(self.me, beat=self.me.beat + 1, seconds=seconds, settled=settled)
        self.store.write_bytes(as_bytes(self.me), DRIVERS, f"{self.me.id}.json")


@contextmanager
def holding(
    store: Store,
    join: bool = False,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
    beat_seconds: float = BEAT_SECONDS,
) -> Iterator[Holder]:
    """Work on a store: alone, or beside others if told to join them."""
    holder = Holder(store, beat_seconds, say)
    holder.enter(join)
    try:
        yield holder
    finally:
        holder.leave()


def bury_dead(store: Store, beat_seconds: float = BEAT_SECONDS) -> bool:
    """Remove what drivers left that were killed at their very end; whether none is left."""
    with suppress(OSError), store.locked(*LOCK):
        watch = Watch(store, "", beat_seconds)
        found = watch.look()
        for dead in found[Life.DEAD]:
            watch.bury(dead)
        if not found[Life.ALIVE] and not found[Life.UNKNOWN]:
            if found[Life.DEAD]:
                claims.forget_all(store)
            return True
    return False


def _age(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "a moment ago"
