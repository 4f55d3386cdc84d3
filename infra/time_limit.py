"""A time limit: a call that takes too long ends its process, and the driver tries it again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GRACE_SECONDS = 60.0  # for the thread that writes the reason; then the guard kills the process
# The guard reads a pipe from this process, and so ends when this process ends, however it ends.
GUARD = (
    "import os, select, sys; "
    "select.select([0], [], [], float(sys.argv[1]))[0] or os.kill(int(sys.argv[2]), 9)"
)


@contextmanager
def ended_after(minutes: float | None, report: Callable[[str, str], None]) -> Iterator[None]:
    """End this process if the block takes longer; `report` gets the reason and the stack.

    A thread does it. If threads hang, too (in a stopped process, or while native code keeps
    Python's lock), a guard process does, without a report.
    """
    if minutes is None:
        yield
        return
    seconds = 60 * minutes
    ended, watched = threading.Event(), threading.get_ident()

    def watch() -> None:
        if not ended.wait(seconds):
            frame = sys._current_frames().get(watched)
            stack = "".join(traceback.format_stack(frame)) if frame else ""
            report(f"not done within {minutes:g} minutes", stack)
            os._exit(1)

    command = [sys.executable, "-I", "-S", "-c", GUARD, str(seconds + GRACE_SECONDS)]
    guard = subprocess.Popen([*command, str(os.getpid())], stdin=subprocess.PIPE)
    threading.Thread(target=watch, name="time limit", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        guard.kill()
        guard.communicate()
