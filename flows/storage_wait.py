"""A store that is full, or that cannot be written for a while: wait for it, then give up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from infra.errors import RUN_AGAIN, WrongInput
from infra.files import ACCEPTED, out_of_reach
from infra.store import Store
from infra.workers import Stopped

PROBE_SECONDS = 2.0
Value = TypeVar("Value")


class StorageWait:
    """A full disk is no model's fault: a thread that finds it full waits here and tries again."""

    def __init__(self, store: Store, minutes: float, note: Callable[[str], None]) -> None:
        self.store, self.minutes, self.note = store, minutes, note
        self.stopped: Callable[[], bool] = lambda: False
        self._full_since: float | None = None
        self._lock = threading.Lock()

    def wait(self, reason: str) -> None:
        """Until a little can be written; raise if that takes too long."""
        with self._lock:
            if self._full_since is None:
                self._full_since = time.monotonic()
                if self.minutes:
                    self.note(f"store {self.store}: {reason}; waiting up to {self.minutes:g} min")
            since = self._full_since
        while True:
            if self.stopped():
                raise Stopped
            if time.monotonic() - since >= 60 * self.minutes:
                accepted = f"{ACCEPTED}. {RUN_AGAIN}"
                raise WrongInput("store", f"{self.store} ({reason})", accepted)
            time.sleep(PROBE_SECONDS)
            if self._can_write():
                return

    def has_room(self) -> None:
        """Something was written: the next time that the disk is full counts from its own start."""
        if self._full_since is not None:
            with self._lock:
                self._full_since = None
            self.note("")

    def retry(self, action: Callable[[], Value]) -> Value:
        """Do it, again and again while there is no room."""
        while True:
            try:
                value = action()
            except OSError as error:
                if not (reason := out_of_reach(error)):
                    raise
                self.wait(reason)
            else:
                self.has_room()
                return value

    def _can_write(self) -> bool:
        try:
            self.store.check_writable()
        except OSError:
            return False
        return True
