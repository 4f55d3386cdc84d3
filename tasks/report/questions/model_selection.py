"""Would another score have chosen another model? Carbonneau et al. 2022, section 5.1, Figure 3.

A grid over strength and the number of latents is searched with each score: Kendall's τ of every two
scores over the models of a data set, whether its sign is the same on two data sets, and the model
that each score chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from markupsafe import Markup

from tasks.citations import PAPERS
from tasks.report.claims import Claim, claims_table
from tasks.report.dynamics import cell_text, where
from tasks.report.figures.heat import heat_map
from tasks.report.intervals import of_kendall
from tasks.report.labels import data_label
from tasks.report.model_choices import (
    STRONG,
    Ranking,
    Signs,
    chosen,
    every_sign,
    rankings_of,
)
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
    missing,
)
from tasks.report.results import Results
from tasks.report.spearman import ENOUGH
from tasks.report.swept_grids import CARBONNEAU, sweeps_latents
from tasks.words import MISSING, data_name, number, plural

QUESTION = Question(
    "Would another score have chosen another model?",
    menu="Model selection",
    papers=(("carbonneau-2022", "section 5.1 and Figure 3"),),
    needs_factors=True,
)
MOST_TIED = 3  # cells of a tie that are named
ABOUT = (
    "Kendall's τ-b over the {}, times 100, with the interval of Fieller, Hartley and "
    "Pearson. Where less is better the sign is turned. Names as in the paper are of parts of "
    "metrics, in the order of its figure; our own headlines follow, if they put models in another "
    "order than these parts."
)


def answer(results: Results) -> Answer:
    if not sweeps_latents(results.models):
        return missing(
            "No method is trained with several numbers of latents. The preset `carbonneau-2022` "
            "has six of them at six strengths: `tolstoy run carbonneau-2022`."
        )
    rankings = rankings_of(results)
    if not rankings:
        return missing(
            f"It needs two scores that say which model is better, and {ENOUGH} cells of a data set "
            "with several numbers of latents."
        )
    one_seed = all(ranking.seeds == 1 for ranking in rankings)
    of_cells = "cells of a data set, each at its median over seeds"
    about = ABOUT.format("models of a data set" if one_seed else of_cells)
    return Answer(
        (
            *(sentence for ranking in rankings for sentence in _of_data_set(ranking)),
            *(_signs_text(signs) for signs in every_sign(rankings)),
            Sentence(about),
            *claims_table(_claims(results), results.study, PAPERS["carbonneau-2022"].short),
            *_figures(rankings),
            _table(rankings),
        )
    )


def _of_data_set(ranking: Ranking) -> Iterator[Sentence]:
    name = Markup("<b>{}</b>").format(data_name(ranking.key[0]))
    pairs = ranking.pairs
    if not pairs:
        yield Sentence(name + ": no two scores have values that differ.", "missing")
        return
    titles = {column.id: column.title for column in ranking.columns}
    ordered = sorted(pairs, key=lambda pair: -pairs[pair])

    def text_of(pair: tuple[str, str], how: str) -> str:
        interval = of_kendall(pairs[pair], len(ranking.cells))
        tau = number(pairs[pair], 2) + (f" ({interval.text()})" if interval else "")
        return f"{titles[pair[0]]} and {titles[pair[1]]} agree {how}, τ = {tau}"

    text = Markup("{}: over {} the mean τ of {} is {}; {} are below 0. {}").format(
        name,
        ranking.unit,
        plural(len(pairs), "pair of scores", "pairs of scores"),
        number(float(np.mean(list(pairs.values()))), 2),
        sum(tau < 0 for tau in pairs.values()),
        text_of(ordered[0], "most"),
    )
    if len(ordered) > 1:
        text += Markup("; {}").format(text_of(ordered[-1], "least"))
    yield Sentence(text + ".", "finding")
    choices = [choice for choice in chosen(ranking).values() if choice]
    if choices:
        most, times = Counter(choices).most_common(1)[0]
        yield Sentence(
            Markup("{}: {} choose {} of {}; {} of them choose {}.").format(
                name,
                plural(len(choices), "score"),
                plural(len(set(choices)), "different cell"),
                len(ranking.cells),
                times,
                _cells_text(ranking, most),
            ),
            "finding",
        )


def _cells_text(ranking: Ranking, places: Sequence[int]) -> str:
    rows = ranking.cells.to_dict("records")
    texts = [cell_text(rows[place], with_latents=True) for place in places]
    more = f" and {len(texts) - MOST_TIED} more" if len(texts) > MOST_TIED else ""
    return "; ".join(texts[:MOST_TIED]) + more


def _signs_text(signs: Signs) -> Sentence:
    text = (
        f"{signs.names[0]} and {signs.names[1]}: τ has the same sign on both for {signs.same} of "
        f"{plural(signs.pairs, 'pair of scores', 'pairs of scores')}"
    )
    if signs.strong:
        text += (
            f", and for {signs.same_strong} of the {signs.strong} whose τ is at least {STRONG} or "
            f"at most −{STRONG} on one of them"
        )
    return Sentence(text + ".", "finding")


def _claims(results: Results) -> Iterator[Claim]:
    """What section 5.1 says of its two data sets."""
    of_grid = replace(results, models=CARBONNEAU.members(results.models))
    theirs = rankings_of(of_grid)
    ids = {model_id for ranking in theirs for model_id in ranking.models}
    models = of_grid.models[of_grid.models["model_id"].isin(ids)]
    taus = [tau for ranking in theirs for tau in ranking.pairs.values()]
    choices = {
        data_name(ranking.key[0]): {choice for choice in chosen(ranking).values() if choice}
        for ranking in theirs
    }
    different = "; ".join(f"{len(cells)} on {name}" for name, cells in choices.items())
    yield Claim(
        "Two practitioners would have chosen different models with different metrics.",
        "section 5.1",
        f"Different cells that are chosen: {different}." if theirs else "",
        all(len(cells) > 1 for cells in choices.values()),
        models,
        CARBONNEAU,
    )
    yield Claim(
        "Often the correlation of metrics is weak or even inverse.",
        "section 5.1, Figure 3",
        f"{sum(tau < 0.3 for tau in taus)} of {len(taus)} τ are below 0.3, "
        f"{sum(tau < 0 for tau in taus)} below 0."
        if taus
        else "",
        None,
        models,
        CARBONNEAU,
    )
    signs = next(iter(every_sign(theirs)), None)
    yield Claim(
        "Directions of correlations correspond on the two data sets, especially of strong ones.",
        "section 5.1, Figure 3",
        f"{signs.same} of {signs.pairs} signs are the same, {signs.same_strong} of {signs.strong} "
        "of the strong ones."
        if signs
        else "",
        signs is not None and _correspond(signs),
        models,
        CARBONNEAU,
    )


def _correspond(signs: Signs) -> bool:
    """More than by chance, and not less among the strong."""
    of_all = signs.same / signs.pairs
    return of_all > 0.5 and (not signs.strong or signs.same_strong / signs.strong >= of_all)


def _figures(rankings: Sequence[Ranking]) -> Iterator[Figures]:
    drawn = tuple(_figure(ranking) for ranking in rankings if ranking.pairs)
    if drawn:
        yield Figures(drawn)


def _figure(ranking: Ranking) -> FigureGroup:
    titles = [column.title for column in ranking.columns]
    places = np.argwhere(np.isfinite(ranking.tau))
    data = pd.DataFrame(
        {
            "score": [titles[one] for one, _ in places],
            "other": [titles[other] for _, other in places],
            "tau": [float(ranking.tau[one, other]) for one, other in places],
        }
    )
    name = data_name(ranking.key[0])
    figure = Figure(
        f"Kendall's τ × 100 over {ranking.unit}",
        f"Kendall's τ between every two of {len(titles)} scores on {name}.",
        heat_map(titles, ranking.tau, f"model selection {where(ranking.key)}"),
        data,
        models=ranking.models,
    )
    return FigureGroup(data_label(*ranking.key), (figure,))


def _table(rankings: Sequence[Ranking]) -> Table:
    """A row per score, a column per data set."""
    titles: dict[str, str] = {c.id: c.title for ranking in rankings for c in ranking.columns}
    choices: list[Mapping[str, tuple[int, ...]]] = [chosen(ranking) for ranking in rankings]

    def cell(place: int, column: str) -> Cell:
        best = choices[place].get(column, ())
        return Cell(_cells_text(rankings[place], best) or MISSING, style="" if best else "muted")

    return Table(
        (Heading("Score"), *(Heading(data_label(*ranking.key)) for ranking in rankings)),
        tuple(
            Row((Cell(title), *(cell(place, column) for place in range(len(rankings)))))
            for column, title in titles.items()
        ),
        style="tight",
        row_headings=True,
        summary="The cell that each score chooses",
    )
