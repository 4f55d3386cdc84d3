"""Models without weights, grouped by why, so that hundreds of them can be read at a glance."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import Any

from infra.store import Store
from tasks.log import LOG
from tasks.study.stored import STUDY_FILE
from tasks.study.survey import CellState

NUMBER = re.compile(
    r"\b[0-9a-f]{16}\b|(?<![\w.-])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE
)
GAP = "\0"  # in the place of a number
EXAMPLES = 3
KINDS_SHOWN = 8
LONGEST = 160  # characters of a reason; the log has all


@dataclass(frozen=True)
class Failure:
    """Models that ended for one reason: the same but for the numbers in it."""

    status: str
    pattern: str  # with # for each number
    reason: str  # with # for numbers that differ
    count: int
    cells: int
    examples: tuple[dict[str, Any], ...]  # some of the models

    @property
    def is_more(self) -> bool:
        return self.count > len(self.examples)

    @property
    def line(self) -> str:
        long = len(self.reason) > LONGEST
        return f"{self.status}: {self.reason[: LONGEST - 3] + '...' if long else self.reason}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def failures(found: Sequence[CellState]) -> list[Failure]:
    """Most frequent first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in found:
        for model in one.cell.models:
            status = one.status.get(model.id, "trained")
            if status != "trained":
                reason = " ".join(one.reasons.get(model.id, "").split()) or "no reason is known"
                known = {"model_id": model.id, "cell": one.cell.name, "seed": model.seed}
                group = groups.setdefault((status, NUMBER.sub(GAP, reason)), [])
                group.append({**known, "reason": reason})
    made = [
        Failure(
            status,
            pattern.replace(GAP, "#"),
            _in_common([model["reason"] for model in models]),
            count=len(models),
            cells=len({model["cell"] for model in models}),
            examples=tuple(models[:EXAMPLES]),
        )
        for (status, pattern), models in groups.items()
    ]
    return sorted(made, key=lambda failure: (-failure.count, failure.status, failure.pattern))


def _in_common(reasons: Sequence[str]) -> str:
    """What reasons say that differ at most in their numbers: # where these differ."""
    columns = zip(*map(NUMBER.findall, reasons), strict=True)
    numbers = iter([column[0] if len(set(column)) == 1 else "#" for column in columns])
    return NUMBER.sub(lambda _: next(numbers), reasons[0])


def failures_text(found: Sequence[CellState], store: Store) -> str:
    """Reasons, examples, where the details are and how to try again; nothing if nothing failed."""
    groups = failures(found)
    if not groups:
        return ""
    total = sum(group.count for group in groups)
    width = len(f"{groups[0].count:,}")
    lines = [f"{total:,} {'model has' if total == 1 else 'models have'} no weights:"]
    for group in groups[:KINDS_SHOWN]:
        lines.append(f"  {group.count:>{width},} {group.line}")
        examples = ", ".join(example["model_id"] for example in group.examples)
        cell = group.examples[0]["cell"] if group.cells == 1 else f"{group.cells:,} cells"
        lines.append(" " * (width + 3) + f"in {cell}: {examples}" + ", ..." * group.is_more)
    if rest := groups[KINDS_SHOWN:]:
        others = sum(group.count for group in rest)
        lines.append(f"  and {others:,} for {len(rest)} other reasons: {_status(store)} --json")
    lines.append(f"Details: {store.address('models', 'ID', LOG)}")
    lines.append(f"Try them again: {retry(found, store)}")
    return "\n".join(lines)


def retry(found: Sequence[CellState], store: Store) -> str:
    """The command that tries just these models again; nothing if there are none."""
    ended = {status for one in found for status in one.status.values()} - {"trained"}
    if not ended:
        return ""
    place = shlex.quote(str(store))
    spec = "SPEC" if "://" in store.uri else f"{place}/{STUDY_FILE}"
    statuses = ",".join(status for status in ("failed", "diverged") if status in ended)
    return f"{command()} run {spec} --store {place} --retry {statuses}"


def command() -> str:
    """How to call this command again from here, whether or not it is on the PATH."""
    called = Path(sys.argv[0])
    if which("tolstoy") or called.name != "tolstoy":
        return "tolstoy"
    here = Path.cwd()
    return str(called.relative_to(here)) if called.is_relative_to(here) else str(called)


def _status(store: Store) -> str:
    return f"{command()} status {shlex.quote(str(store))}"
