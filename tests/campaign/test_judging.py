"""What the campaign accepts as the same rows, and how it counts faults."""

from __future__ import annotations

from typing import Any

from tests.campaign.judging import near
from tests.campaign.tally import Tally

ROWS: list[dict[str, Any]] = [
    {"model_id": "a", "pool": "cell", "udr": 0.25, "udr_eq2": 0.5},
    {"model_id": "b", "pool": "cell", "udr": 0.125, "udr_eq2": 1.0},
]


def test_rows_are_the_same_up_to_rounding_in_any_order() -> None:
    rounded = [{**row, "udr": row["udr"] * (1 + 1e-7)} for row in reversed(ROWS)]
    assert near(rounded, ROWS)
    assert not near([{**row, "udr": row["udr"] * 1.001} for row in ROWS], ROWS)
    assert not near([{**row, "pool": "method"} for row in ROWS], ROWS)
    assert not near(ROWS[:1], ROWS)
    assert not near([*ROWS, ROWS[0]], ROWS)


def test_the_faults_of_a_lost_round_are_lost() -> None:
    tally = Tally(7, {"clock jumps": "no C compiler"})
    tally.add(["driver killed", "disk full"])
    tally.add(["driver killed"], "round 2: a model twice")
    lines = str(tally).splitlines()
    assert tally.lost.total() == 1
    assert tally.injected == {"driver killed": 2, "disk full": 1}
    assert "driver killed                   2        1     1" in lines
    assert "all                             3        2     1" in lines
    assert lines[-3:] == [
        "left out: clock jumps, no C compiler",
        "lost: round 2: a model twice",
        "seed 7",
    ]
