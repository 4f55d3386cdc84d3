"""Names as the page shows them: data sets with a badge for their source, methods with a colour."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from tasks.report.figures.colours import Style
from tasks.report.figures.sparklines import legend_marker
from tasks.words import SOURCES, data_name, method_name, strength_text, symbol

Styles = Mapping[str, Style]


def data_label(name: str, source: str | None) -> Markup:
    """No source: no model of the data set has been run."""
    if source is None:
        return Markup('{} <span class="badge">no model yet</span>').format(data_name(name))
    style = "badge unlike" if source == "look-alike" else "badge"
    about = Markup(' title="{}"').format(SOURCES[source]) if source in SOURCES else ""
    badge = Markup('<span class="{}"{}>{}</span>').format(style, about, source)
    return Markup("{} {}").format(data_name(name), badge)


def method_label(method: str, styles: Styles, strength: float | None = None) -> Markup:
    """With a strength: `β-VAE, β = 4`."""
    text = method_name(method)
    if strength is not None:
        text += f", {symbol(method)} = {strength_text(strength)}"
    swatch = Markup('<span class="swatch" style="background:var({})"></span>')
    return swatch.format(styles[method].variable) + text


def method_legend(styles: Styles, note: str = "") -> tuple[tuple[Markup, str], ...]:
    """The marker of every method, and a note."""
    markers = tuple((legend_marker(style), method_name(method)) for method, style in styles.items())
    return (*markers, (Markup(""), note)) if note else markers
