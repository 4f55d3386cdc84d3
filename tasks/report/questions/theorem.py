"""What can be told apart without labels? Theorem 1 of Locatello et al. 2019, with numbers.

It needs no study: tasks/theorem.py draws factors and builds both representations of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup

from metrics import METRICS
from tasks.report.figures.axes import (
    STYLE,
    THIRD,
    Drawing,
    Margins,
    blank,
    inline,
    label,
    x_scale,
    y_scale,
)
from tasks.report.figures.colours import KNOWN
from tasks.report.figures.sparklines import legend_marker
from tasks.report.questions import (
    Answer,
    Cell,
    Figure,
    FigureGroup,
    Figures,
    Heading,
    Question,
    Row,
    Sentence,
    Table,
)
from tasks.report.results import Results
from tasks.theorem import FACTORS, Representations, representations
from tasks.words import BETTER, MISSING, metric_name, number, plural

QUESTION = Question(
    "Theorem 1: what cannot be told apart without labels",
    menu="Theorem 1",
    papers=(("locatello-2019", "section 3 and appendix A"),),
)
POINTS = 3_000  # enough for every metric; with more, some take minutes
DRAWN = 600
BANDS = 5  # of the factor by which points are coloured
TITLES = ("Perfect", "Entangled")


def answer(results: Results) -> Answer:
    """The same for every study."""
    of = representations(POINTS)
    scores = of.scores()
    about = (
        f"This page is about no model: {plural(FACTORS, 'independent factor')} are drawn uniformly "
        f"at {POINTS:,} points. The perfect codes are the factors. The entangled codes are the "
        "factors sent through the bijection of the paper's proof, in which every latent changes "
        "with every factor. Both are independent and uniform, and a decoder that undoes the "
        "bijection first makes the same pictures with the same probability. So whatever sees "
        "pictures only, such as the loss of a model, is equal for both; metrics that know the "
        "factors are not. Without assumptions on methods or data, no such loss leads to the one "
        "rather than to the other."
    )
    legend = tuple(
        (legend_marker(style), f"factor 1 from {band / BANDS:g} to {(band + 1) / BANDS:g}")
        for band, style in enumerate(list(KNOWN.values())[:BANDS])
    )
    figures = FigureGroup("The codes", tuple(_figure(of, place) for place in range(2)))
    return Answer(
        (
            _finding(of, scores),
            Sentence(about),
            Figures((figures,), legend),
            _without_labels(of),
            _with_labels(scores),
        )
    )


def _finding(of: Representations, scores: dict[str, list[float | None]]) -> Sentence:
    known = {name: (a, b) for name, (a, b) in scores.items() if a is not None and b is not None}
    fall = [name for name, (a, b) in known.items() if (a < b if _less(name) else a > b)]
    text = Markup(
        "<b>Theorem 1</b>: without labels nothing tells the two apart: the largest distance of a "
        "latent's distribution from uniform is {} for the perfect codes and {} for the entangled "
        "ones, the total correlation {} and {}. With labels <b>{} of {} metrics</b> call the "
        "perfect codes better{}."
    )
    mig = Markup(": MIG is {} and {}").format(*(number(v, 2) for v in known["mig"]))
    return Sentence(
        text.format(
            *(number(max(distances), 2) for distances in of.distances),
            *(number(value, 2) for value in of.total_correlations),
            len(fall),
            len(known),
            mig,
        ),
        "finding",
    )


def _less(metric: str) -> bool:
    return METRICS[metric].better == "less"


def _without_labels(of: Representations) -> Table:
    noise = 1.36 / np.sqrt(POINTS)  # of a uniform sample, 95% are nearer
    pairs: list[tuple[str, Sequence[float]]] = [
        *(
            (f"Distance of latent {z} from uniform (Kolmogorov-Smirnov)", distances)
            for z, distances in enumerate(zip(*of.distances, strict=True), 1)
        ),
        ("Largest correlation of two latents", of.correlations),
        ("Total correlation, nats", of.total_correlations),
    ]
    rows = [
        Row((Cell(title), *(Cell(number(value), value) for value in values)))
        for title, values in pairs
    ]
    slope = of.smallest_slope
    of_slopes = (Cell("0", 0.0), Cell(f"{slope:.1g}", slope))
    rows.append(Row((Cell("Smallest slope of a latent along a factor of another"), *of_slopes)))
    caption = (
        f"What needs no labels. Of {POINTS:,} points of a uniform variable, 95% of samples have a "
        f"distance below {number(float(noise))}"
    )
    headings = (Heading(""), *(Heading(title, numeric=True) for title in TITLES))
    return Table(headings, tuple(rows), style="tight", caption=caption, row_headings=True)


def _with_labels(scores: dict[str, list[float | None]]) -> Table:
    headings = (
        Heading("Metric"),
        *(Heading(title, numeric=True) for title in TITLES),
        Heading("Which values are good"),
    )
    rows = (
        Row(
            (
                Cell(metric_name(name), name),
                *(Cell(MISSING if v is None else number(v), v) for v in values),
                Cell(BETTER[METRICS[name].better]),
            )
        )
        for name, values in scores.items()
    )
    caption = "What knows the factors"
    return Table(headings, tuple(rows), style="tight", caption=caption, row_headings=True)


def _figure(of: Representations, place: int) -> Figure:
    codes = of.both[place][:DRAWN]
    factor = of.perfect[:DRAWN, 0]
    data = pd.DataFrame(codes, columns=[f"latent_{z}" for z in range(1, FACTORS + 1)])
    data = data.assign(**{f"factor_{k}": of.perfect[:DRAWN, k - 1] for k in range(1, FACTORS + 1)})
    title = f"{TITLES[place]} codes"
    about = f"{title}: the first two latents at {DRAWN} points, coloured by the first factor: " + (
        "five upright bands." if place == 0 else "the colours are mixed."
    )
    drawing = _scatter(codes, np.minimum(factor * BANDS, BANDS - 1).astype(int), f"theorem {place}")
    return Figure(title, about, drawing, data)


def _scatter(codes: np.ndarray, bands: np.ndarray, name: str) -> Drawing:
    scale = (0.0, 1.0)
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank(THIRD, THIRD - 12, Margins(left=46, right=12, top=12))
        axes.set_ylim(*scale)
        x_scale(axes, scale)
        y_scale(axes, scale)
        label(axes, "latent 1 (latent 2 up)", (0.5, 0.0), (0, -24), "center", "top")
        for band, style in enumerate(list(KNOWN.values())[:BANDS]):
            points = codes[bands == band]
            axes.plot(
                *points[:, :2].T,
                style.marker,
                color=style.light,
                alpha=0.7,
                markersize=4.6,
                mew=0,
                clip_on=False,
            )
        return Drawing(inline(figure, name), THIRD, name)
