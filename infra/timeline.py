"""What ran where and when, as a file that chrome://tracing and Perfetto open.

`span` notes how long its block takes, if this process records; otherwise it does nothing. The
driver records in the block of `recorded_to`. A worker records during a call that was submitted
`with_spans`, and the spans come back with its result; those of a call whose worker died are lost.

Times are those of a wall clock that is read once per process, so a clock that jumps makes no two
spans of a process overlap.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

from infra.new_file import new_file, writing_new

ENDINGS = (".json",)
OPTION = "--timeline"
DRIVER = "driver"
WALL_CLOCK = time.time() - time.perf_counter()
ATTRIBUTE = "_timeline_of_call"  # of an error that a call on a worker raised


class Span(NamedTuple):
    name: str
    start: int  # microseconds since 1970
    end: int
    thread: str
    facts: dict[str, str]


@dataclass(frozen=True)
class OfCall:
    """What a call returned on a worker, and the spans of the call."""

    result: Any
    process: str
    spans: list[Span]


@dataclass
class _Recorder:
    spans: list[Span] = field(default_factory=list)  # of this process
    of_workers: list[OfCall] = field(default_factory=list)


_recorder: _Recorder | None = None
_is_new_process = True


@contextmanager
def span(name: str, **facts: str) -> Iterator[None]:
    """Note how long the block takes, if this process records."""
    recorder = _recorder
    if recorder is None:
        yield
        return
    start = _now()
    try:
        yield
    finally:
        thread = threading.current_thread().name
        recorder.spans.append(Span(name, start, _now(), thread, facts))


def _now() -> int:
    return int(1e6 * (WALL_CLOCK + time.perf_counter()))


def with_spans(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for a worker whose spans `without_spans` takes out of its result; itself, if
    this process does not record."""
    if _recorder is None:
        return function

    @wraps(function)
    def call(*arguments: Any) -> OfCall:
        with _recorded() as spans:
            process = f"{socket.gethostname()} {os.getpid()}"
            try:
                return OfCall(function(*arguments), process, spans)
            except Exception as error:
                with suppress(AttributeError):
                    setattr(error, ATTRIBUTE, OfCall(None, process, spans))
                raise

    return call


def without_spans(result: Any) -> Any:
    """What the function itself returned or raised; its spans go to the timeline."""
    of_call = result
    if isinstance(result, Exception):  # Ray's own error has that of the call as its cause
        of_call = getattr(getattr(result, "cause", None), ATTRIBUTE, None)
    if not isinstance(of_call, OfCall):
        return result
    if _recorder is not None:
        _recorder.of_workers.append(OfCall(None, of_call.process, of_call.spans))
    return result if isinstance(result, Exception) else of_call.result


@contextmanager
def _recorded() -> Iterator[list[Span]]:
    """What a worker's call appends its spans to; its first call also notes when it started."""
    global _recorder, _is_new_process
    before, _recorder = _recorder, _Recorder()
    spans = _recorder.spans
    if _is_new_process and (start := _started_at()):
        thread = threading.current_thread().name
        spans.append(Span("start, waiting for the first call", start, _now(), thread, {}))
    _is_new_process = False
    try:
        yield spans
    finally:
        _recorder = before


def _started_at() -> int | None:
    """When this process started, in microseconds since 1970, where the system says so."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return _now() - int(1e6 * age)
    return None


@contextmanager
def recorded_to(path: Path | None) -> Iterator[None]:
    """While the block runs, record; then write the file, also after Ctrl-C or an error, unless the
    error came before any work. Without a path, do neither."""
    global _recorder
    if path is None:
        yield
        return
    new_file(path, OPTION, ENDINGS)
    recorder = _recorder = _Recorder()
    error: BaseException | None = None
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        _recorder = None
        if recorder.of_workers or not isinstance(error, Exception):
            _write(path, events(recorder.spans, recorder.of_workers))


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with writing_new(path, OPTION, ENDINGS) as partial, partial.open("w") as file:
        file.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def events(of_driver: list[Span], of_workers: list[OfCall]) -> list[dict[str, Any]]:
    """Chrome's trace events: a name for each process and thread, then all spans in order."""
    spans = {DRIVER: list(of_driver)}
    for call in list(of_workers):
        spans.setdefault(f"worker {call.process}", []).extend(call.spans)
    names: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for pid, (process, of_process) in enumerate(spans.items()):
        names.append(_name("process_name", pid, 0, process))
        threads = list(dict.fromkeys(each.thread for each in of_process))
        names += [_name("thread_name", pid, tid, name) for tid, name in enumerate(threads)]
        for each in of_process:
            rows.append(
                {
                    "name": each.name,
                    "ph": "X",
                    "ts": each.start,
                    "dur": each.end - each.start,
                    "pid": pid,
                    "tid": threads.index(each.thread),
                    "args": each.facts,
                }
            )
    return names + sorted(rows, key=lambda row: (row["ts"], -row["dur"]))


def _name(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}
