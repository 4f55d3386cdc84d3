"""Would another score have chosen another model? Carbonneau et al. 2022, section 5.1, Figure 3.

A grid over strength and the number of latents is searched with each score: Kendall's τ of every two
scores over the models of a data set, whether its sign is the same on two data sets, and the model
that each score chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from metrics import HEADLINE
from tasks.citations import PAPERS
from tasks.report.claims import Claim, claims_table
from tasks.report.dynamics import cell_text, where
from tasks.report.figures.heat import heat_map
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.intervals import of_kendall
from tasks.report.kendall import tau_matrix
from tasks.report.labels import data_label
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
from tasks.report.results import Column, Results, signed_so_more_is_better
from tasks.report.spearman import ENOUGH
from tasks.report.swept_grids import CARBONNEAU, objectives, sweeps_latents
from tasks.words import MISSING, data_name, number, plural

QUESTION = Question(
    "Would another score have chosen another model?",
    menu="Model selection",
    papers=(("carbonneau-2022", "section 5.1 and Figure 3"),),
    needs_factors=True,
)
# The 17 columns of the paper, in its order, and the part of our metric that puts models in the same
# order: a score that is scaled so that guessing is 0 orders them as the score does.
REVIEW: dict[tuple[str, str], str] = {
    ("beta_vae", "calibrated"): "Z-diff",
    ("factor_vae", "score_std_pruned"): "Z-min Variance",
    ("rf_vae", "score_std_pruned"): "Z-max Variance",
    ("irs", "max_deviation_weighted"): "IRS (review)",
    ("dci_lasso", "disentanglement"): "DCI Lasso Modularity",
    ("dci_lasso", "completeness"): "DCI Lasso Compactness",
    ("dci_lasso", "informativeness_test"): "DCI Lasso Explicitness",
    ("dci_forest", "disentanglement"): "DCI RF Modularity",
    ("dci_forest", "completeness"): "DCI RF Compactness",
    ("dci_forest", "informativeness_test"): "DCI RF Explicitness",
    ("explicitness", HEADLINE): "Explicitness",
    ("sap", HEADLINE): "SAP",
    ("mig", HEADLINE): "MIG",
    ("mig_sup", HEADLINE): "MIG-sup",
    ("jemmig", "normalised"): "JEMMIG, normalised",
    ("modularity", HEADLINE): "Modularity",
    ("dcimig", HEADLINE): "DCIMIG",
}
STRONG = 0.5
MOST_TIED = 3  # cells of a tie that are named
ABOUT = (
    "Kendall's τ-b over the {}, times 100, with the interval of Fieller, Hartley and "
    "Pearson. Where less is better the sign is turned. Names as in the paper are of parts of "
    "metrics, in the order of its figure; our own headlines follow, if they put models in another "
    "order than these parts."
)


@dataclass(frozen=True)
class Ranking:
    """The cells of a data set with a sweep of latents, each at its median over seeds."""

    key: tuple[str, ...]  # data, source
    cells: pd.DataFrame  # CELL, latents, objective, a signed column per score
    columns: tuple[Column, ...]
    tau: NDArray[np.float64]  # (columns, columns); NaN where there is none
    models: pd.Series[str]
    seeds: int  # of the largest cell

    @property
    def pairs(self) -> dict[tuple[str, str], float]:
        """By the ids of two columns, where there is a τ."""
        return {
            (self.columns[one].id, self.columns[other].id): float(self.tau[one, other])
            for one, other in combinations(range(len(self.columns)), 2)
            if np.isfinite(self.tau[one, other])
        }

    @property
    def unit(self) -> str:
        one, many = ("model", "models") if self.seeds == 1 else ("median", "medians of cells")
        return plural(len(self.cells), one, many)


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
            *claims_table(
                _claims(rankings, results), results.study, PAPERS["carbonneau-2022"].short
            ),
            *_figures(rankings),
            _table(rankings),
        )
    )


def columns_of(results: Results) -> list[Column]:
    """The paper's columns that the study has, then the headlines of all metrics."""
    by_name = {metric.name: metric for metric in results.metrics if metric.direction}
    columns = [
        Column(name, title, part=part) for (name, part), title in REVIEW.items() if name in by_name
    ]
    ids = {column.id for column in columns}
    # Of JEMMIG the paper's column is the normalised one, of which more is better.
    headlines = (m for m in by_name.values() if m.id not in ids and m.name != "jemmig")
    return [*columns, *headlines]


def rankings_of(results: Results) -> list[Ranking]:
    columns = columns_of(results)
    models = signed_so_more_is_better(results.with_parts(columns), columns)
    found = []
    for key, of_data in groups(models, DATA_SET):
        if not sweeps_latents(of_data):
            continue
        rows = of_data.assign(objective=objectives(of_data))
        by = [*CELL, "latents", "objective"]
        known = [column for column in columns if rows[column.id].notna().any()]
        cells = rows.groupby(by, sort=False)[[column.id for column in known]].median()
        known = _without_doubles(known, cells)
        cells = cells[[column.id for column in known]].reset_index()
        cells = cells.sort_values(["latents", "strength"], kind="stable", ignore_index=True)
        if len(known) < 2 or len(cells) < ENOUGH:
            continue
        scores = cells[[column.id for column in known]].to_numpy(float).T
        seeds = int(rows.groupby(CELL).size().max())
        tau = tau_matrix(scores)
        found.append(Ranking(key, cells, tuple(known), tau, rows["model_id"], seeds))
    return found


def _without_doubles(columns: Sequence[Column], cells: pd.DataFrame) -> list[Column]:
    """Without headlines that put the cells in the same order as one of their metric's parts."""
    kept: list[Column] = []
    for column in columns:
        ranks = cells[column.id].rank()
        same = (c for c in kept if c.name == column.name)
        is_double = any(ranks.equals(cells[other.id].rank()) for other in same)
        if column.part != HEADLINE or not is_double:
            kept.append(column)
    return kept


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


def chosen(ranking: Ranking) -> dict[str, tuple[int, ...]]:
    """By id of a column, the places of its best cells: several if they are equal, none if all
    are."""
    choices = {}
    for column in ranking.columns:
        known = ranking.cells[column.id].dropna()
        best = known.index[known == known.max()] if known.nunique() > 1 else ()
        choices[column.id] = tuple(int(place) for place in best)
    return choices


def _cells_text(ranking: Ranking, places: Sequence[int]) -> str:
    rows = ranking.cells.to_dict("records")
    texts = [cell_text(rows[place], with_latents=True) for place in places]
    more = f" and {len(texts) - MOST_TIED} more" if len(texts) > MOST_TIED else ""
    return "; ".join(texts[:MOST_TIED]) + more


@dataclass(frozen=True)
class Signs:
    """How often τ has the same sign on two data sets: of all pairs of scores, and of those whose τ
    is strong on one of the two."""

    names: tuple[str, str]
    same: int
    pairs: int
    same_strong: int
    strong: int


def every_sign(rankings: Sequence[Ranking]) -> list[Signs]:
    return [signs for one, other in combinations(rankings, 2) if (signs := signs_of(one, other))]


def signs_of(one: Ranking, other: Ranking) -> Signs | None:
    """None where the two have no pair of scores in common. A τ of 0 has no sign and agrees with
    none."""
    here, there = one.pairs, other.pairs
    both = [pair for pair in here if pair in there]
    same = {pair: here[pair] * there[pair] > 0 for pair in both}
    strong = [pair for pair in both if max(abs(here[pair]), abs(there[pair])) >= STRONG]
    if not both:
        return None
    names = data_name(one.key[0]), data_name(other.key[0])
    return Signs(
        names, sum(same.values()), len(both), sum(same[pair] for pair in strong), len(strong)
    )


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


def _claims(rankings: Sequence[Ranking], results: Results) -> Iterator[Claim]:
    """What section 5.1 says of its two data sets."""
    theirs = [r for r in rankings if r.key[0] in CARBONNEAU.data and r.key[1] != "user"]
    ids = {model_id for ranking in theirs for model_id in ranking.models}
    models = CARBONNEAU.members(results.models[results.models["model_id"].isin(ids)])
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
