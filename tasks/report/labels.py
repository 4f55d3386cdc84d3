"""Names as the page shows them: data sets with a badge for their source, methods with a colour."""

from __future__ import annotations

import re
from collections.abc import Mapping

from markupsafe import Markup

from tasks.report.figures.colours import Style
from tasks.report.figures.sparklines import legend_marker
from tasks.words import SOURCES, cell_title, data_name, method_name

LINK = re.compile(r"</?a\b[^>]*>")
Styles = Mapping[str, Style]


def data_page(name: str, source: str) -> str:
    """The name of a data set's page, without its ending."""
    return f"{name}-{source}"


def data_label(name: str, source: str | None) -> Markup:
    """Leads from a page in a folder to the data set's. No source: no model of it has been run."""
    if source is None:
        return Markup('{} <span class="badge">no model yet</span>').format(data_name(name))
    style = "badge unlike" if source == "look-alike" else "badge"
    about = Markup(' title="{}"').format(SOURCES[source]) if source in SOURCES else ""
    badge = Markup('<span class="{}"{}>{}</span>').format(style, about, source)
    link = Markup('<a class="plain" href="../data/{}.html">{} {}</a>')
    return link.format(data_page(name, source), data_name(name), badge)


def without_links(text: str) -> str:
    """A label for a place that is itself pressed, such as a heading by which a table is sorted."""
    return Markup(LINK.sub("", text)) if isinstance(text, Markup) else text


def method_label(method: str, styles: Styles, strength: float | None = None) -> Markup:
    """With a strength: `β-VAE, β = 4`."""
    text = method_name(method) if strength is None else cell_title(method, strength)
    swatch = Markup('<span class="swatch" style="background:var({})"></span>')
    return swatch.format(styles[method].variable) + text


def method_legend(styles: Styles, note: str = "") -> tuple[tuple[Markup, str], ...]:
    """The marker of every method, and a note."""
    markers = tuple((legend_marker(style), method_name(method)) for method, style in styles.items())
    return (*markers, (Markup(""), note)) if note else markers
