"""What happened to a model, in its own words: `models/ID/log.txt`, a line per event."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import UTC, datetime

from infra.store import Store

LOG = "log.txt"
LAST_WORDS = "last words: "


class ModelLog:
    """Lines go to the store at once, because the next thing may be a kill."""

    def __init__(self, store: Store, model_id: str) -> None:
        self.store, self.place = store, ("models", model_id, LOG)

    def add(self, text: str) -> None:
        """A log that cannot be written costs no model."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = f"{now} {socket.gethostname()} {os.getpid()}: {text.rstrip()}\n"
        with suppress(OSError):
            older = self.store.read_bytes(*self.place) if self.store.exists(*self.place) else b""
            self.store.write_bytes(older + line.encode(), *self.place)

    def last_words(self, reason: str, details: str) -> None:
        """Why the worker that writes this is about to end."""
        self.add(f"{details}\n{LAST_WORDS}{reason}")


def last_words(store: Store, model_id: str) -> str:
    """What a worker said before it ended, if that is the last of the log."""
    with suppress(OSError):
        lines = store.read_bytes("models", model_id, LOG).decode(errors="replace").splitlines()
        if lines and lines[-1].startswith(LAST_WORDS):
            return lines[-1].removeprefix(LAST_WORDS)
    return ""
