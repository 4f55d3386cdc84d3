"""Which models ended without weights, and why?"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.reasons import shortened
from tasks.report.frames import CELL, Frames, groups
from tasks.report.labels import method_label
from tasks.report.questions import (
    Answer,
    Cell,
    Heading,
    Question,
    Row,
    Sentence,
    Table,
    missing,
)
from tasks.report.results import Results
from tasks.words import MISSING, data_name, strength_text, symbol

QUESTION = Question("Failures", section="run")
MOST_ROWS, MOST_SEEDS = 50, 12


@dataclass(frozen=True)
class CellFailure:
    """Models of one cell that ended for one reason."""

    data: str
    method: str
    strength: float
    status: str
    reason: str
    seeds: tuple[int, ...]
    steps: tuple[int, int]


def answer(results: Results) -> Answer:
    if results.frames.models.empty:
        return missing("No model has been run yet.")
    failed = failures(results.frames)
    if not failed:
        return Answer((Sentence("None: every model that was run has been trained to its end."),))
    headings = (
        *(Heading(text) for text in ("Data set", "Method", "Strength", "Seeds", "Ended")),
        Heading("After steps", numeric=True),
        Heading("Reason"),
    )
    rows = tuple(_row(failure, results) for failure in failed[:MOST_ROWS])
    about = (
        "Models that ended without weights. They are results too, and are in the table of models "
        "with their reasons."
    )
    more = f"And {len(failed) - MOST_ROWS} more, in the table of models."
    notes = (Sentence(more, "note"),) if len(failed) > MOST_ROWS else ()
    return Answer((Sentence(about), Table(headings, rows), *notes))


def failures(frames: Frames) -> list[CellFailure]:
    """One entry per cell and reason."""
    ended = frames.models[frames.models["status"] != "trained"]
    ended = ended.assign(reason=ended["reason"].fillna("").replace("", "no reason recorded"))
    cells = []
    for key, rows in groups(ended, [*CELL, "status", "reason"]):
        data, _, method, strength, status, reason = key
        seeds = tuple(int(seed) for seed in sorted(rows["seed"]))
        steps = (int(rows["steps"].min()), int(rows["steps"].max()))
        cells.append(CellFailure(data, method, float(strength), status, reason, seeds, steps))
    return cells


def _strength(failure: CellFailure) -> Cell:
    if not symbol(failure.method):
        return Cell(MISSING)
    return Cell(strength_text(failure.strength), failure.strength)


def _row(failure: CellFailure, results: Results) -> Row:
    seeds = ", ".join(str(seed) for seed in failure.seeds[:MOST_SEEDS])
    if len(failure.seeds) > MOST_SEEDS:
        seeds += f" and {len(failure.seeds) - MOST_SEEDS} more"
    first, last = failure.steps
    return Row(
        (
            Cell(data_name(failure.data)),
            Cell(method_label(failure.method, results.styles), failure.method, style="who"),
            _strength(failure),
            Cell(seeds),
            Cell(failure.status, style="ill"),
            Cell(f"{first:,}" if first == last else f"{first:,}–{last:,}", first),
            Cell(shortened(failure.reason)),
        )
    )
