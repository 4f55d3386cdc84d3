"""The names people know for the names in the tables; an unknown name stands for itself."""

from __future__ import annotations

import math

from data import DATA_SETS
from metrics import METRICS, SIMILARITIES
from models import METHODS
from tasks.study.axes import method_of, value_text, values_of

MISSING = "–"
UDR = "UDR"  # what most rankings without labels are called
SMALLEST_EXPONENT = -3  # of ten; smaller numbers are written with a power
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

SOURCES = {
    "official": "the authors' own file",
    "redrawn": "drawn again by the authors' recipe",
    "look-alike": "drawn to resemble the original: its numbers are not the papers' numbers",
    "user": "your own data",
}
BETTER = {
    "more": "more is better",
    "less": "less is better",
    "neither": "neither more nor less is better",
}
POOLS = {"cell": "same strength", "method": "all strengths", "data": "all methods"}
POOL_MEANINGS = {
    "cell": "compared with the models of its own cell, which differ in their seed only",
    "method": "compared with all models of its data set and method",
    "data": "compared with all models of its data set",
}


def data_name(name: str) -> str:
    return DATA_SETS[name].title if name in DATA_SETS else name


def method_name(sweep: str) -> str:
    """Of a method, or of one at values of swept axes: `β-VAE, 4 latents`."""
    method = method_of(sweep)
    if method not in METHODS:
        return sweep
    values = [value_text(axis, value) for axis, value in values_of(sweep).items()]
    return ", ".join([METHODS[method].title, *values])


def symbol(sweep: str) -> str:
    """Of the strength; empty of a method that has none."""
    method = method_of(sweep)
    return METHODS[method].symbol if method in METHODS else "strength"


def strength_value(sweep: str, strength: float) -> str:
    """`4`; empty of a method that has no strength."""
    return strength_text(strength) if symbol(sweep) else ""


def strength_name(sweep: str, strength: float) -> str:
    """`β = 4`; empty of a method that has no strength."""
    value = strength_value(sweep, strength)
    return f"{symbol(sweep)} = {value}" if value else ""


def cell_title(sweep: str, strength: float) -> str:
    """`β-VAE, β = 4`; only the name of a method that has no strength."""
    return ", ".join(filter(None, (method_name(sweep), strength_name(sweep, strength))))


def metric_name(name: str) -> str:
    return METRICS[name].title if name in METRICS else name


def similarity_name(name: str) -> str:
    return SIMILARITIES[name].title if name in SIMILARITIES else name


def ranking_name(similarity: str) -> str:
    """UDR, or what else models are ranked by when they are compared so."""
    return SIMILARITIES[similarity].ranking if similarity in SIMILARITIES else UDR


def udr_name(pool: str, similarity: str, alone: bool) -> str:
    """What a ranking is called; a similarity of UDR is named only where there are several."""
    ranking = ranking_name(similarity)
    name = f"{ranking}, {POOLS.get(pool, pool)}"
    return name if alone or ranking != UDR else f"{name} ({similarity_name(similarity)})"


def strength_text(strength: float) -> str:
    return f"{strength:g}"


def number(value: float | None, digits: int = 3) -> str:
    """A number for reading: never nan, a true minus sign, fewer decimals where it is large."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) >= 100:
        digits = min(digits, 1)
    elif abs(value) >= 10:
        digits = min(digits, 2)
    text = f"{value:,.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", "−")


def significant(value: float | None, digits: int = 3) -> str:
    """A number of any size for reading, by so many significant digits: 0.0213, 2.93·10⁻⁵."""
    if value is None or not math.isfinite(value):
        return MISSING
    if not value:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if exponent < SMALLEST_EXPONENT:
        text = f"{mantissa}·{power_of_ten(exponent)}"
    else:
        text = f"{value:,.{max(0, digits - 1 - exponent)}f}"
    return text.replace("-", "−")


def power_of_ten(exponent: int) -> str:
    """`10⁻⁵`."""
    return "10" + str(exponent).translate(RAISED)


def with_deviation(mean: float, deviation: float | None) -> str:
    """`0.44 ± 0.42`."""
    return number(mean, 2) + ("" if deviation is None else f" ± {number(deviation, 2)}")


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Time in the largest unit that leaves a number above one."""
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} seconds"


def size_text(count: float) -> str:
    """Bytes in the unit that leaves few digits."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
