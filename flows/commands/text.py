"""Text that several commands print: aligned tables, durations, a bar for what takes a while."""

from __future__ import annotations

import codecs
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from shutil import get_terminal_size

from infra.errors import escaped

GAP = "  "  # between columns
ASCII_TEXT = {"×": "x", "±": "+-", "→": "->", "·": "*", "█": "#", "µ": "u", "λ": "lambda"}
ASCII_TEXT |= {"−": "-", "–": "-", "—": "-", "’": "'", "“": '"', "”": '"'}
QUIET_SECONDS = 2.0  # what is done sooner needs no lines of progress


def table(head: Sequence[str], rows: Sequence[Sequence[object]], least: Sequence[int] = ()) -> str:
    """Columns as wide as they need to be, the first ones at least so wide; numbers to the right."""
    cells = _cells(head, rows)
    least = [*least, *[0] * len(head)]
    widths = [max(least[i], *(len(row[i]) for row in cells)) for i in range(len(head))]
    right = [bool(rows) and isinstance(rows[0][i], int | float) for i in range(len(head))]
    return "\n".join(
        GAP.join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


def _cells(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[list[str]]:
    return [[escaped(str(value)) for value in row] for row in (head, *rows)]


def fitting(head: Sequence[str], rows: Sequence[Sequence[object]], width: int = 0) -> int:
    """How many of a table's columns, from the left, fit the terminal; the first two always do."""
    width = width or get_terminal_size((100, 24)).columns
    cells = _cells(head, rows)
    used = -len(GAP)
    for count in range(len(head)):
        used += len(GAP) + max(len(row[count]) for row in cells)
        if used > width and count >= 2:
            return count
    return len(head)


def duration(minutes: float) -> str:
    if minutes < 1:
        return f"{60 * minutes:.0f} s"
    if minutes < 120:
        return f"{minutes:.0f} min"
    if minutes < 60 * 48:
        return f"{minutes / 60:.1f} h"
    return f"{minutes / 60 / 24:.1f} days"


def number_text(value: float | None, digits: int) -> str:
    """A number in a table, or a dash for none."""
    return "-" if value is None else f"{value:.{digits}f}"


def say(text: str) -> None:
    """For people, while a command works: what programs read is on the standard output."""
    print("\n".join(map(escaped, text.split("\n"))), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """About what can go on, but may not be what the user wants."""
    say(escaped(f"tolstoy: warning: {text}"))


@contextmanager
def bar(name: str) -> Iterator[Callable[[str, float], None]]:
    """A function (what, fraction) that moves a bar on a terminal; elsewhere it prints a line for
    every tenth of what takes longer than two seconds."""
    name = escaped(name)
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        # rich prints the standard output above the bar; in a file or a pipe it must stay as it is
        to_terminal = sys.stdout.isatty()
        console = Console(stderr=True)
        with Progress(console=console, transient=True, redirect_stdout=to_terminal) as progress:
            task = progress.add_task(name, total=1.0)

            def move(what: str, fraction: float) -> None:
                progress.update(task, description=f"{name}: {what}", completed=fraction)

            yield move
        return
    printed: dict[str, int] = {}
    began = time.monotonic()

    def print_tenth(what: str, fraction: float) -> None:
        tenth = int(10 * fraction)
        if tenth > printed.get(what, 0) and time.monotonic() - began > QUIET_SECONDS:
            printed[what] = tenth
            say(f"{name}: {what} {10 * tenth} %")

    yield print_tenth


@contextmanager
def preparing(name: str) -> Iterator[Callable[[float], None]]:
    """A bar for the user's own pictures, which can be many, while they are read into the cache."""
    with bar(name) as move:
        yield lambda fraction: move("preparing", fraction)


def spell_out() -> None:
    """Print what the terminal's encoding lacks in letters that it has, in place of an error."""
    codecs.register_error("spelled out", _spelled_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="spelled out")


def _spelled_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(map(in_ascii, characters)), error.end


def in_ascii(character: str) -> str:
    """β is beta, é is e; what has neither a name in ASCII_TEXT nor such a form is a question mark.

    A Greek letter is a symbol here, and its name is what people type for it.
    """
    if character in ASCII_TEXT:
        return ASCII_TEXT[character]
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and len(words) >= 4:
        return words[3].lower()
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or "?"
