"""What can be said of a number of ours and a paper's: whether they differ by more than chance.

Only numbers over a whole grid of the paper are judged; of fewer models no agreement is claimed.
The interval of the difference is that of Zou and Donner (2008), from the interval of each. Where a
paper's number allows none, its interval is taken to be as wide as ours, which is of as many models.
"""

from __future__ import annotations

from tasks.report.intervals import Interval, of_difference
from tasks.report.questions import Published

AGREES = "agrees within its interval"
DIFFERS = "differs by more than chance allows"
NO_INTERVAL = "no interval, so no verdict"


def verdict(row: Published) -> str:
    if row.grid == "not computed":
        return f"not computed: {row.why_not}"
    if row.why_not:
        return f"not comparable: {row.why_not}"
    of_both = difference_interval(row)
    if of_both is None:
        return NO_INTERVAL
    rounding = 0.5 * 10.0 ** -(row.digits + 2 * row.percent)
    return AGREES if of_both.low <= rounding and of_both.high >= -rounding else DIFFERS


def difference(row: Published) -> float | None:
    return None if row.ours is None or row.published is None else row.ours - row.published


def difference_interval(row: Published) -> Interval | None:
    if row.ours is None or row.published is None or row.interval is None:
        return None
    theirs = row.published_interval or _as_wide(row.interval, row.ours, row.published)
    return of_difference(row.ours, row.interval, row.published, theirs)


def _as_wide(interval: Interval, ours: float, published: float) -> Interval:
    """The other way round, so that the difference has both widths on both sides."""
    return Interval(published - (ours - interval.low), published + (interval.high - ours))
