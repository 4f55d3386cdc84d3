"""What happened to a model, or a group that is compared, in its own words: a line per event."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import UTC, datetime

from infra.store import Store

LOG = "log.txt"
LAST_WORDS = "last words: "


class Log:
    """Lines go to the store at once, because the next thing may be a kill."""

    def __init__(self, store: Store, *folder: str) -> None:
        self.store, self.place = store, (*folder, LOG)

    def add(self, text: str) -> None:
        """A log that cannot be written costs nothing else."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = f"{now} {socket.gethostname()} {os.getpid()}: {text.rstrip()}\n"
        with suppress(OSError):
            older = self.store.read_bytes(*self.place) if self.store.exists(*self.place) else b""
            self.store.write_bytes(older + line.encode(), *self.place)

    def end(self, reason: str, details: str) -> None:
        """Why the worker that writes this is about to end."""
        self.add(f"{details}\n{LAST_WORDS}{reason}")

    @property
    def last_words(self) -> str:
        """What a worker said before it ended, if that is the last of the log."""
        with suppress(OSError):
            lines = self.store.read_bytes(*self.place).decode(errors="replace").splitlines()
            if lines and lines[-1].startswith(LAST_WORDS):
                return lines[-1].removeprefix(LAST_WORDS)
        return ""


def model_log(store: Store, model_id: str) -> Log:
    return Log(store, "models", model_id)


def comparison_log(store: Store, group: str) -> Log:
    return Log(store, "comparisons", group)
