"""Reading a timeline as a viewer does."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any


def check_timeline(file: Path) -> dict[str, list[tuple[str, dict[str, str]]]]:
    """By process, names and facts of its spans in their order. Fails if a span lacks a field, or if
    two of one thread overlap of which none is inside the other."""
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    names = {row["pid"]: row["args"]["name"] for row in rows if row["name"] == "process_name"}
    threads = {(row["pid"], row["tid"]) for row in rows if row["name"] == "thread_name"}
    assert len(set(names.values())) == len(names)
    spans = defaultdict(list)
    for row in rows:
        if row["ph"] == "M":
            continue
        assert row.keys() == {"name", "ph", "ts", "dur", "pid", "tid", "args"}
        assert row["ph"] == "X"
        assert row["dur"] >= 0 and row["ts"] > 1.6e15, "microseconds since 1970"
        assert (row["pid"], row["tid"]) in threads
        spans[names[row["pid"]]].append(row)
    for of_process in spans.values():
        for thread in {row["tid"] for row in of_process}:
            _check_nesting([row for row in of_process if row["tid"] == thread])
    return {
        process: [(row["name"], row["args"]) for row in of_process]
        for process, of_process in spans.items()
    }


def _check_nesting(rows: list[dict[str, Any]]) -> None:
    open_until: list[int] = []
    for row in rows:
        while open_until and open_until[-1] <= row["ts"]:
            open_until.pop()
        end = row["ts"] + row["dur"]
        assert not open_until or end <= open_until[-1], f"{row['name']} overlaps the span before"
        open_until.append(end)
