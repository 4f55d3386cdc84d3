"""Tables, durations and bars as text."""

from __future__ import annotations

import pytest

from flows.commands.text import bar, duration, fitting, table

HEAD = ("name", "count", "note")
ROWS = [("beta", 5, "x"), ("b", 1200, "")]


def test_columns_are_aligned_and_numbers_are_to_the_right() -> None:
    assert table(HEAD, ROWS).splitlines() == [
        "name  count  note",
        "beta      5  x",
        "b      1200",
    ]


@pytest.mark.parametrize(("width", "count"), [(1, 2), (11, 2), (16, 2), (17, 3)])
def test_as_many_columns_as_fit_and_always_two(width: int, count: int) -> None:
    assert fitting(HEAD, ROWS, width) == count


@pytest.mark.parametrize(
    ("minutes", "text"),
    [(0.5, "30 s"), (90, "90 min"), (600, "10.0 h"), (60 * 24 * 10, "10.0 days")],
)
def test_durations(minutes: float, text: str) -> None:
    assert duration(minutes) == text


def test_what_is_done_at_once_prints_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("own") as move:
        move("reading", 1.0)
    assert capsys.readouterr() == ("", "")
