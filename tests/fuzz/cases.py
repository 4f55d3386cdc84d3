"""What each test of hostile input has in common: how many cases, and what none of them may do.

A case is accepted, or it ends with the one-line error for wrong input. It never ends with another
exception, writes outside its folder, starts a program, opens a connection or unpickles anything.
All cases of a test together raise the peak of memory by at most MOST_MEGABYTES.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings

from infra.errors import CONTROL, WrongInput
from infra.peak_memory import peak_megabytes, reset_peak

CASES = 70  # of each test in the usual suite; an input has two or three tests
MANY_CASES = 10_000  # with -m slow
MOST_MEGABYTES = 512  # that memory may grow, whatever a file claims
LONGEST_MESSAGE = 20_000  # characters
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
PLACES = {"os.mkdir": 0, "os.remove": 0, "os.rmdir": 0, "os.truncate": 0, "os.rename": 1}
PLACES |= {"os.link": 1, "os.symlink": 1}
FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect")
FORBIDDEN += ("pickle.find_class",)

SLOW = [pytest.mark.slow, pytest.mark.timeout(7200)]
IN_TWO_SIZES = pytest.mark.parametrize("cases", [CASES, pytest.param(MANY_CASES, marks=SLOW)])
Result = TypeVar("Result")


def of_each(formats: Sequence[str]) -> pytest.MarkDecorator:
    """Few cases of all formats together, and many of each."""
    every = pytest.param(CASES, tuple(formats), id=f"{CASES}")
    many = [
        pytest.param(MANY_CASES, (end,), marks=SLOW, id=f"{MANY_CASES}{end}") for end in formats
    ]
    return pytest.mark.parametrize(("cases", "endings"), [every, *many])


def run(cases: int, check: Callable[..., None], **strategies: Any) -> None:
    """Check so many cases that the strategies make, the same ones each time if they are few."""
    reset_peak()
    start = peak_megabytes()
    decorated = given(**strategies)(check)
    settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=cases == CASES,
        suppress_health_check=list(HealthCheck),
    )(decorated)()
    peak = peak_megabytes()
    if start is not None and peak is not None:  # Linux
        assert peak - start < MOST_MEGABYTES, f"{peak - start:.0f} MB more than at the start"


def accepted(attempt: Callable[[], Result]) -> Result | None:
    """The result, or None if the input is refused as it should be."""
    try:
        return attempt()
    except WrongInput as error:
        message = str(error)
        assert ": found " in message and "; accepted: " in message
        assert error.field and error.accepted, message
        assert not CONTROL.search(message), repr(message)
        assert len(message) < LONGEST_MESSAGE, message[:500]
        assert "Traceback" not in message
        return None


# what a case does to the machine -------------------------------------------------------------

_allowed: Path | None = None  # while a case runs
_violations: list[str] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _allowed is None:
        return
    if event in FORBIDDEN and not _is_numbas(event):
        _violations.append(f"{event} {arguments!r:.300}")
    elif event == "open" and isinstance(arguments[0], str | bytes):
        if arguments[2] and arguments[2] & WRITES:
            _check_place(event, arguments[0])
    elif event in PLACES and isinstance(place := arguments[PLACES[event]], str | bytes):
        _check_place(event, place)


def _is_numbas(event: str) -> bool:
    """Whether numba unpickles: functions from its own cache, or types while it compiles."""
    frame: FrameType | None = sys._getframe()
    while event == "pickle.find_class" and frame:
        if {"numba", "core"} <= set(Path(frame.f_code.co_filename).parts):
            return True
        frame = frame.f_back
    return False


def _check_place(event: str, place: str | bytes) -> None:
    path = Path(os.fsdecode(place)).absolute()
    is_cache = "__pycache__" in path.parts or path == Path(os.devnull)
    if not is_cache and not path.resolve().is_relative_to(_allowed or path):
        _violations.append(f"{event} {path}")


sys.addaudithook(_watch)


@contextmanager
def only_in(folder: Path) -> Iterator[None]:
    """Fail if Python writes outside this folder meanwhile, or does what input never may."""
    global _allowed
    _violations.clear()
    _allowed = folder.resolve()
    try:
        yield
    finally:
        _allowed = None
    assert not _violations, list(_violations)
