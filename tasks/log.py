"""The log of a model, or of a group that is compared: a line per event."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import UTC, datetime

from infra.store import Store

LOG = "log.txt"
ENDED_BECAUSE = "ended because: "


class Log:
    """Each line goes to the store at once, as the process may be killed next."""

    def __init__(self, store: Store, *folder: str) -> None:
        self.store, self.place = store, (*folder, LOG)

    def add(self, text: str) -> None:
        """Append a line; a store that cannot be written raises no error."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = f"{now} {socket.gethostname()} {os.getpid()}: {text.rstrip()}\n"
        with suppress(OSError):
            older = self.store.read_bytes(*self.place) if self.store.exists(*self.place) else b""
            self.store.write_bytes(older + line.encode(), *self.place)

    def end(self, reason: str, details: str) -> None:
        """Write why this worker is about to end itself."""
        self.add(f"{details}\n{ENDED_BECAUSE}{reason}")

    @property
    def reason_for_end(self) -> str:
        """Why a worker ended itself, if that is the last line."""
        with suppress(OSError):
            lines = self.store.read_bytes(*self.place).decode(errors="replace").splitlines()
            if lines and lines[-1].startswith(ENDED_BECAUSE):
                return lines[-1].removeprefix(ENDED_BECAUSE)
        return ""


def model_log(store: Store, model_id: str) -> Log:
    return Log(store, "models", model_id)


def comparison_log(store: Store, group: str) -> Log:
    return Log(store, "comparisons", group)
