"""The log of a model, or of a group that is compared: a line per event."""

from __future__ import annotations

import os
import re
import socket
from contextlib import suppress
from datetime import UTC, datetime

from infra.store import Store
from tasks.study.model import TRAINED

LOG = "log.txt"
BEGINS = "training from step "
ENDED_BECAUSE = "ended because: "
EVENT = re.compile(r"\d{4}-\d\d-\d\dT\S+ \S+ \d+: (.*)")
OUTCOME = re.compile(r"(?:(trained)|((?:diverged|failed)(?:: .*)?)), [\d.]+ s in all")


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

    def tries(self) -> list[str]:
        """How each try of the training ended: `trained`, a reason, or nothing, as a worker that is
        killed writes no more. No log, no try."""
        with suppress(OSError):
            if self.store.exists(*self.place):
                return tries(self.store.read_bytes(*self.place).decode(errors="replace"))
        return []


def tries(text: str) -> list[str]:
    """The same, of the text of a log."""
    ends: list[str] = []
    has_ended = True  # the last try
    for line in text.splitlines():
        event = EVENT.fullmatch(line)
        if event and event[1].startswith(BEGINS):
            ends.append("")
            has_ended = False
            continue
        if line.startswith(ENDED_BECAUSE):
            end = line.removeprefix(ENDED_BECAUSE)
        elif event and (outcome := OUTCOME.fullmatch(event[1])):
            end = outcome[1] or outcome[2]
        else:
            continue
        if ends and ends[-1] == TRAINED:  # it is of the scores
            continue
        if has_ended:  # before its first step, as when its data set cannot be read
            ends.append("")
        ends[-1], has_ended = end, True
    return ends


def model_log(store: Store, model_id: str) -> Log:
    return Log(store, "models", model_id)


def comparison_log(store: Store, group: str) -> Log:
    return Log(store, "comparisons", group)
