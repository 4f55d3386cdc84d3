"""Reasons of failures, which are the same but for the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = re.compile(
    r"\b[0-9a-f]{16}\b|(?<![\w.-])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE
)
GAP = "\0"
MOST_LETTERS = 300


def pattern_of(reason: str) -> str:
    """The same text for reasons that differ only in numbers, with GAP for each of these."""
    return NUMBER.sub(GAP, reason)


def common_reason(reasons: Sequence[str]) -> str:
    """Of reasons that differ only in numbers: # where these differ."""
    columns = zip(*map(NUMBER.findall, reasons), strict=True)
    numbers = iter([column[0] if len(set(column)) == 1 else "#" for column in columns])
    return NUMBER.sub(lambda _: next(numbers), reasons[0])


def shortened(reason: str) -> str:
    """For a table: an error of some programs is a page."""
    if len(reason) <= MOST_LETTERS:
        return reason
    return reason[: MOST_LETTERS - 3].rsplit(" ", 1)[0] + "..."
