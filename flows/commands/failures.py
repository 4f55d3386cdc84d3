"""Models without weights, grouped by the reason, so that hundreds of them can be read at once."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import Any

from infra.store import Store
from tasks.log import LOG
from tasks.reasons import GAP, common_reason, pattern_of
from tasks.study.model import CAN_RETRY, TRAINED
from tasks.study.stored import STUDY_FILE
from tasks.study.survey import CellState

EXAMPLES = 3
GROUPS_PRINTED = 8
LONGEST = 160  # characters of a reason; the log has all


@dataclass(frozen=True)
class FailureGroup:
    """Models that ended for one reason: the same but for the numbers in it."""

    status: str
    pattern: str  # with # for each number
    reason: str  # with # for numbers that differ
    count: int
    cells: int
    examples: tuple[dict[str, Any], ...]  # some of the models

    @property
    def line(self) -> str:
        is_long = len(self.reason) > LONGEST
        return f"{self.status}: {self.reason[: LONGEST - 3] + '...' if is_long else self.reason}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def failures(cells: Sequence[CellState]) -> list[FailureGroup]:
    """Most frequent first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for state in cells:
        for model in state.cell.models:
            status = state.status.get(model.id, TRAINED)
            if status != TRAINED:
                reason = " ".join(state.reasons.get(model.id, "").split()) or "no reason is known"
                group = groups.setdefault((status, pattern_of(reason)), [])
                group.append(
                    {
                        "model_id": model.id,
                        "cell": state.cell.name,
                        "seed": model.seed,
                        "reason": reason,
                    }
                )
    made = [
        FailureGroup(
            status,
            pattern.replace(GAP, "#"),
            common_reason([model["reason"] for model in models]),
            count=len(models),
            cells=len({model["cell"] for model in models}),
            examples=tuple(models[:EXAMPLES]),
        )
        for (status, pattern), models in groups.items()
    ]
    return sorted(made, key=lambda group: (-group.count, group.status, group.pattern))


def failures_text(cells: Sequence[CellState], store: Store) -> str:
    """Reasons, examples, where the details are and how to try again; nothing if nothing failed."""
    groups = failures(cells)
    if not groups:
        return ""
    total = sum(group.count for group in groups)
    width = len(f"{groups[0].count:,}")
    lines = [f"{total:,} {'model has' if total == 1 else 'models have'} no weights:"]
    for group in groups[:GROUPS_PRINTED]:
        lines.append(f"  {group.count:>{width},} {group.line}")
        examples = ", ".join(example["model_id"] for example in group.examples)
        more = ", ..." if group.count > len(group.examples) else ""
        place = group.examples[0]["cell"] if group.cells == 1 else f"{group.cells:,} cells"
        lines.append(" " * (width + 3) + f"in {place}: {examples}{more}")
    if rest := groups[GROUPS_PRINTED:]:
        others = sum(group.count for group in rest)
        status = f"{command()} status {shlex.quote(str(store))} --json"
        lines.append(f"  and {others:,} for {len(rest)} other reasons: {status}")
    lines.append(f"Details: {store.address('models', 'ID', LOG)}")
    lines.append(f"Try them again: {retry(cells, store)}")
    return "\n".join(lines)


def retry(cells: Sequence[CellState], store: Store) -> str:
    """The command that tries just these models again; nothing if there are none."""
    statuses = [
        status for status in CAN_RETRY if any(status in state.status.values() for state in cells)
    ]
    if not statuses:
        return ""
    place = shlex.quote(str(store))
    spec = "SPEC" if "://" in store.uri else f"{place}/{STUDY_FILE}"
    return f"{command()} run {spec} --store {place} --retry {','.join(statuses)}"


def command() -> str:
    """How to call this command again from here, whether or not it is on the PATH."""
    called = Path(sys.argv[0])
    if which("tolstoy") or called.name != "tolstoy":
        return "tolstoy"
    here = Path.cwd()
    return str(called.relative_to(here)) if called.is_relative_to(here) else str(called)
