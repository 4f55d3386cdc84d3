"""All processes of a campaign: found by their titles, and ended with it, orphans too."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

from tests.processes import descendants

SUBREAPER = 36  # Linux: orphans below us become our children, so that none is ever lost


def adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def ours(title: str) -> list[int]:
    """Processes of the campaign whose command begins so; dead ones have none."""
    return [pid for pid, command in descendants(os.getpid()) if command.startswith(title)]


def send(pids: Iterable[int], number: int = signal.SIGKILL) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def kill_tree(root: int) -> None:
    """A process and all below it, at once, as a power cut does."""
    send([root, *(pid for pid, _ in descendants(root))])


def end_all() -> None:
    """Whatever still runs below us, and the remains of what does not."""
    for _ in range(100):
        below = descendants(os.getpid())
        send(pid for pid, command in below if not command.startswith("ps "))
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if all(command.startswith("ps ") for _, command in below):
            return
        time.sleep(0.1)


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
