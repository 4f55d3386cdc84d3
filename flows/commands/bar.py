"""One bar for one thing that takes a while: a download, or preparing a data set."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MOMENT = 2.0  # seconds


@contextmanager
def bar(name: str) -> Iterator[Callable[[str, float], None]]:
    """A function (what, fraction) that moves a bar on a terminal, or prints every tenth of what
    takes more than a moment."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(name, total=1.0)

            def move(what: str, fraction: float) -> None:
                progress.update(task, description=f"{name}: {what}", completed=fraction)

            yield move
        return
    told: dict[str, int] = {}
    began = time.monotonic()

    def say(what: str, fraction: float) -> None:
        tenth = int(10 * fraction)
        if tenth > told.get(what, 0) and time.monotonic() - began > MOMENT:
            told[what] = tenth
            print(f"{name}: {what} {10 * tenth} %", file=sys.stderr, flush=True)

    yield say


@contextmanager
def preparing(name: str) -> Iterator[Callable[[float], None]]:
    """A bar for the user's own pictures, which can be many, while they are read into the cache."""
    with bar(name) as move:
        yield lambda fraction: move("preparing", fraction)
