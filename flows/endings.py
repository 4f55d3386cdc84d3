"""How the command line ends: its exit code, and output that nobody reads any more."""

from __future__ import annotations

import os
import sys

from flows.commands.text import say

PIPE_CLOSED = 141  # as a shell reports a program that SIGPIPE ended


def ended(code: int, reason: str) -> int:
    """Print why the command ends, if somebody still reads; returns its exit code."""
    try:
        say(f"tolstoy: {reason}")
    except OSError:
        drop_output()
    return code


def drop_output() -> None:
    """Send the rest of the output nowhere: Python would write it when it ends, and fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
