"""A try that takes too long ends with its process; whoever started it starts it again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GRACE_SECONDS = 60.0  # for the thread that tells why; then the process is ended from outside
# Reads a pipe that this process holds: it ends when that is closed, by a kill as well.
GUARD = (
    "import os, select, sys; "
    "select.select([0], [], [], float(sys.argv[1]))[0] or os.kill(int(sys.argv[2]), 9)"
)


@contextmanager
def ended_after(minutes: float | None, tell: Callable[[str, str], None]) -> Iterator[None]:
    """End this process if the block takes longer; `tell` gets the reason and where it was.

    A thread does it. Where even threads hang (a stopped process, native code that keeps Python's
    lock), a guard outside does, which can tell nobody.
    """
    if minutes is None:
        yield
        return
    seconds = 60 * minutes
    over, watched = threading.Event(), threading.get_ident()

    def watch() -> None:
        if not over.wait(seconds):
            frame = sys._current_frames().get(watched)
            where = "".join(traceback.format_stack(frame)) if frame else ""
            tell(f"not done within {minutes:g} minutes", where)
            os._exit(1)

    command = [sys.executable, "-I", "-S", "-c", GUARD, str(seconds + GRACE_SECONDS)]
    guard = subprocess.Popen([*command, str(os.getpid())], stdin=subprocess.PIPE)
    threading.Thread(target=watch, name="time limit", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        guard.kill()
        guard.communicate()
