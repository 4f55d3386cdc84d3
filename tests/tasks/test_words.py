"""Numbers and durations for readers."""

from __future__ import annotations

import math

import pytest

from tasks.words import duration, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0.12345, "0.123"),
        (-0.00001, "0.000"),
        (-0.5, "−0.500"),
        (12.3456, "12.35"),
        (1234.56, "1,234.6"),
    ],
)
def test_numbers_are_written_for_readers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_durations_have_a_unit_that_fits() -> None:
    assert [duration(s) for s in (5, 120, 7200, 200_000)] == [
        "5 seconds",
        "2.0 minutes",
        "2.0 hours",
        "2.3 days",
    ]
