"""A matplotlib figure as a small inline SVG whose colours and font are the page's.

Text stays text: it is as large, selectable and searchable as the page's own. Colours become CSS
variables, so one picture serves the light and the dark page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from tasks.report import colours

TEXT = 11.5  # px
STYLE: Any = {
    "svg.fonttype": "none",
    "font.size": TEXT,
    "text.color": colours.INK,
    "lines.solid_capstyle": "butt",
    "path.simplify": False,
}
METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))

_VARIABLES = colours.variables()
_CLEANING: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL), ""),
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r'(<g) id="[^"]*"'), r"\1"),  # ids that nothing refers to would not be unique
    (re.compile(r"<g/>|<defs>\s*</defs>"), ""),
    (re.compile(r' xmlns(:xlink)?="[^"]*"| version="1.1"'), ""),
    (re.compile(r"font-family: [^;\"]*;? ?"), ""),
    (re.compile(r' transform="rotate\(-?0 [^)]*\)"'), ""),
    (re.compile(r"\d+\.\d{3,}(?=[^\d\w])"), lambda found: f"{float(found[0]):.2f}"),
    (re.compile(r"#[0-9a-f]{6}\b"), lambda found: _css(found[0])),
    (re.compile(r"\s*\n\s*"), " "),
    (re.compile(r"> <"), "><"),
)


def _css(colour: str) -> str:
    return f"var({_VARIABLES[colour]})" if colour in _VARIABLES else colour


def inline(figure: Figure, name: str) -> Markup:
    """The figure as SVG; `name` keeps its inner ids apart from those of other figures."""
    file = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": name, "svg.id": None}):
        figure.savefig(file, format="svg", metadata=METADATA)
    text = file.getvalue()
    for pattern, replacement in _CLEANING:
        text = pattern.sub(replacement, text)
    return Markup(text.strip())
