"""Axes of a known size in CSS pixels, and figures as small inline SVGs in the page's colours.

Scales are a few lines and words, not matplotlib's ticks: a tick is five artists, and a page of a
large study with 250 figures would spend most of its time on them. Labels stand at fixed distances
in pixels, where they have room whatever font the page has.

In the SVG, text stays text: it is as large, selectable and searchable as the page's own. Colours
become CSS variables, so one picture serves the light and the dark page.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.report.figures import colours
from tasks.report.figures.points import Points

Limits = tuple[float, float]
DPI = 72  # the unit of matplotlib's SVG: one dot is one CSS pixel
BETWEEN = 36.0  # px between axes that stand one above the other
THIRD = 352  # px: a third of the page
FEWEST_TICKS, MOST_TICKS = 3, 8  # of a scale of powers
TEXT = 11.5  # px
STYLE: Any = {
    "svg.fonttype": "none",
    "font.size": TEXT,
    "text.color": colours.INK,
    "lines.solid_capstyle": "butt",
    "path.simplify": False,
}
METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


@dataclass(frozen=True)
class Drawing:
    """An inline SVG, the width in pixels at which it is meant to be seen, and what its points are.
    No two drawings of a page have one name."""

    svg: Markup
    width: int
    name: str
    points: Points | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Margins:
    """Pixels around the axes."""

    left: float = 46.0
    right: float = 12.0
    top: float = 8.0
    bottom: float = 40.0


def blank(width: int, height: float, margins: Margins, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of so many pixels, with axes one above the other."""
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, frameon=False)
    each = (height - margins.top - margins.bottom - BETWEEN * (rows - 1)) / rows
    inner = width - margins.left - margins.right
    axes = []
    for row in range(rows):
        base = margins.bottom + (rows - 1 - row) * (each + BETWEEN)
        box = (margins.left / width, base / height, inner / width, each / height)
        one = figure.add_axes(box, frameon=False)
        one.set_xticks([])
        one.set_yticks([])
        axes.append(one)
    return figure, axes


def limits(values: pd.Series[float]) -> Limits:
    """A scale with some air; it starts at 0 where the values come near it."""
    finite = values.dropna()
    if finite.empty:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if 0 < low < 0.5 * high:
        low = 0.0
    if low == high:
        return (0.0, 1.0) if 0 <= low <= 1 else (low - abs(low) / 2, low + abs(low) / 2)
    air = 0.06 * (high - low)
    return (low if low == 0.0 else low - air), high + air


def y_scale(axes: Axes, scale: Limits, powers: bool = False) -> None:
    """Values on the left, each with a line across. With `powers`, what is drawn are powers of 10 of
    the values that are written."""
    axes.set_ylim(*scale)
    places, texts = _ticks(scale, powers)
    left, right = axes.get_xlim()
    axes.hlines(places, left, right, color=colours.RULE, linewidth=1, zorder=0, clip_on=False)
    for place, text in zip(places, texts, strict=True):
        label(axes, text, (left, place), (-8, -0.5), "right", "center")


def x_scale(axes: Axes, scale: Limits, powers: bool = False) -> None:
    """Values below."""
    axes.set_xlim(*scale)
    base = axes.get_ylim()[0]
    for place, text in zip(*_ticks(scale, powers), strict=True):
        label(axes, text, (place, base), (0, -8), "center", "top")


def label(
    axes: Axes,
    text: str,
    at: tuple[float, float],
    shift: tuple[float, float],
    across: str,
    up: str,
    colour: str = colours.MUTED,
    upright: bool = False,
) -> None:
    """Words at a place of the axes' data, moved by pixels; never read as mathematics."""
    options: dict[str, Any] = {"ha": across, "va": up, "color": colour}
    if upright:
        options |= {"rotation": 90, "rotation_mode": "anchor"}
    options |= {"textcoords": "offset points", "annotation_clip": False, "parse_math": False}
    axes.annotate(text, at, shift, **options)


def _ticks(scale: Limits, powers: bool) -> tuple[Sequence[float], list[str]]:
    if not powers:
        places = _round_values(scale)
        return places, tick_texts(places)
    values = power_values(scale)
    return [math.log10(value) for value in values], [f"{value:g}" for value in values]


def power_values(scale: Limits) -> list[float]:
    """Values whose powers of 10 lie on the scale: 1, 2 and 5 of each decade, or fewer where there
    are many decades, or round ones where there is less than one."""
    low, high = scale
    decades = range(math.floor(low), math.ceil(high) + 1)
    for multiples in ((1, 2, 5), (1,)):
        values = [float(f"{m}e{decade}") for decade in decades for m in multiples]
        values = [v for v in values if low - 1e-9 <= math.log10(v) <= high + 1e-9]
        if len(values) <= MOST_TICKS:
            break
    if len(values) < FEWEST_TICKS:
        ends = 10.0**low, 10.0**high
        values = [float(f"{v:.12g}") for v in _round_values(ends) if v > 0]
    return values[:: math.ceil(len(values) / MOST_TICKS)] if values else []


def tick_texts(values: Sequence[float]) -> list[str]:
    """Rising values at even distances, each as short as it can be and still differ from all others.

    A distance is 1, 2, 2.5 or 5 times a power of ten, so that one decimal more than the power's is
    enough for all.
    """
    step = min((b - a for a, b in pairwise(values)), default=max(map(abs, values), default=0) or 1)
    decimals = max(0, 1 - math.floor(math.log10(step * (1 + 1e-6))))
    hundreds = all(abs(value - round(value, -2)) < 1e-6 * step for value in values)
    if hundreds and max(map(abs, values), default=0) >= 10_000:
        return [_short(value / 1000, 1) + ("k" if value else "") for value in values]
    return [_short(value, decimals) for value in values]


def _short(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if decimals else text
    return "0" if text == "-0" else text.replace("-", "−")


def _round_values(scale: Limits) -> Sequence[float]:
    low, high = scale
    values = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    edge = 1e-9 * (high - low)
    return [float(value) for value in values if low - edge <= value <= high + edge]


_VARIABLES = colours.variables()
_CLEANING: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL), ""),
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r'(<g) id="[^"]*"'), r"\1"),  # ids that nothing refers to would not be unique
    (re.compile(r"<g/>|<defs>\s*</defs>"), ""),
    (re.compile(r' xmlns(:xlink)?="[^"]*"| version="1.1"'), ""),
    (re.compile(r"font-family: [^;\"]*;? ?"), ""),
    (re.compile(r' transform="rotate\(-?0 [^)]*\)"'), ""),
    # coordinates, and no text, which ends at the next tag
    (re.compile(r"\d+\.\d{3,}(?=[^\d\w<])"), lambda found: f"{float(found[0]):.2f}"),
    (re.compile(r"#[0-9a-f]{6}\b"), lambda found: _css(found[0])),
    (re.compile(r"\s*\n\s*"), " "),
    (re.compile(r"> <"), "><"),
    (re.compile(r"xlink:href"), "href"),
    (re.compile(r"<g>((?:<use [^>]*/>)+)</g>"), lambda found: _with_common_style(found[1])),
)


def _css(colour: str) -> str:
    return f"var({_VARIABLES[colour]})" if colour in _VARIABLES else colour


def _with_common_style(markers: str) -> str:
    """Markers of one style say it once: a page may have tens of thousands of them."""
    style = re.compile(r' style="[^"]*"')
    styles = set(style.findall(markers))
    if len(styles) != 1:
        return f"<g>{markers}</g>"
    return f"<g{styles.pop()}>{style.sub('', markers)}</g>"


def inline(figure: Figure, name: str) -> Markup:
    """The figure as SVG; `name` keeps its inner ids apart from those of other figures."""
    file = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": name, "svg.id": None}):
        figure.savefig(file, format="svg", metadata=METADATA)
    text = file.getvalue()
    for pattern, replacement in _CLEANING:
        text = pattern.sub(replacement, text)
    return Markup(text.strip())
