"""Numbers and durations for readers."""

from __future__ import annotations

import math

import pytest

from tasks.words import duration, number, significant


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.02134, "0.0213"),
        (0.0012345, "0.00123"),
        (0.00099999, "0.00100"),
        (0.0000293, "2.93·10⁻⁵"),
        (-3.2e-12, "−3.20·10⁻¹²"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
    ],
)
def test_numbers_of_any_size_keep_their_digits(value: float | None, text: str) -> None:
    assert significant(value) == text


def test_durations_have_a_unit_that_fits() -> None:
    assert [duration(s) for s in (5, 120, 7200, 200_000)] == [
        "5 seconds",
        "2.0 minutes",
        "2.0 hours",
        "2.3 days",
    ]
