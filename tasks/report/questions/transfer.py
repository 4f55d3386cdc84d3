"""How often are transferred hyperparameters at least as good as a random model?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student_t

from tasks.report.comparable import COMPARABLE_SOURCES, Population, members, with_grid
from tasks.report.frames import groups
from tasks.report.intervals import FEWEST_SEEDS, LEVEL, Interval
from tasks.report.ours_and_theirs import beside_the_paper
from tasks.report.published import BEATS_RANDOM, SEVEN, SIX
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Column, Results

QUESTION = Question(
    "How often chosen hyperparameters do at least as well as a random model",
    section="papers",
    papers=(("locatello-2019", "Table 1"),),
)
ABOUT = (
    "The method and strength that score highest with one seed, on one metric and data set, "
    "against a random model, both judged with another seed: all such comparisons, of which the "
    "paper draws 10,000. Intervals are from leaving out one seed after the other; the paper's "
    "number allows none, so it is taken to be as uncertain as ours."
)
Scores = NDArray[np.float64]  # (cells, seeds), NaN where there is none


def answer(results: Results) -> Answer:
    return beside_the_paper(ABOUT, _rows(results))


def _rows(results: Results) -> Iterator[Published]:
    population = Population(SEVEN)
    models = members(results.models, population)
    papers = models[models["source"].isin(COMPARABLE_SOURCES)]
    models = papers if len(papers) else models
    metrics = {m.name: m for m in results.metrics if models[m.id].notna().any()}
    six = [metrics[name] for name in SIX if name in metrics]
    models = models[models[[metric.id for metric in six]].notna().any(axis=1)]
    tables = score_tables(models, six)
    for (same_metric, same_data), published in BEATS_RANDOM.items():
        share, interval = beats_random(tables, same_metric, same_data)
        row = Published(
            what=f"{'Same' if same_metric else 'Another'} metric, "
            f"{'same' if same_data else 'another'} data set",
            ours=share,
            published=published,
            place=QUESTION.place,
            n=len(models),
            why_not="" if share is not None else "too few scores, data sets, strengths or seeds",
            percent=True,
            digits=1,
            published_n=population.models,
            interval=interval,
        )
        yield with_grid(row, results.study, models, population)


def score_tables(models: pd.DataFrame, metrics: Sequence[Column]) -> dict[tuple[str, str], Scores]:
    """Scores as (cells, seeds) per data set and metric, all with the same cells and seeds."""
    models = models.drop_duplicates(["data", "method", "strength", "seed"])  # of several sources
    cells = pd.MultiIndex.from_frame(models[["method", "strength"]].drop_duplicates())
    seeds = pd.Index(sorted(models["seed"].unique()))
    tables = {}
    for (data,), rows in groups(models, ["data"]):
        by_cell = rows.set_index(["method", "strength", "seed"])
        for metric in metrics:
            scores = by_cell[metric.id].unstack("seed")
            tables[data, metric.name] = scores.reindex(index=cells, columns=seeds).to_numpy(float)
    return tables


def beats_random(
    tables: Mapping[tuple[str, str], Scores], same_metric: bool, same_data: bool
) -> tuple[float | None, Interval | None]:
    """The share of all comparisons that the transferred choice wins or ties, and its interval from
    leaving out one seed after the other (the jackknife); None if none can be made."""
    if not tables or min(next(iter(tables.values())).shape) < 2:
        return None, None
    keys, scores = list(tables), np.stack(list(tables.values()))
    pairs = [
        [
            (one[1] == other[1]) == same_metric and (one[0] == other[0]) == same_data
            for other in keys
        ]
        for one in keys
    ]
    wins, valid = _against_random(scores, np.array(pairs))
    # what is lost without a seed: as the one that chooses, and as the one that judges
    lost_wins, lost_valid = (table.sum(axis=0) + table.sum(axis=1) for table in (wins, valid))
    if not valid.sum():
        return None, None
    share, left = float(wins.sum() / valid.sum()), valid.sum() - lost_valid
    seeds = len(wins)
    if seeds < FEWEST_SEEDS or not left.all():
        return share, None
    without = (wins.sum() - lost_wins) / left
    deviation = np.sqrt((seeds - 1) / seeds * ((without - without.mean()) ** 2).sum())
    half = float(student_t.ppf(LEVEL[1], seeds - 1) * deviation)
    return share, Interval(max(0.0, share - half), min(1.0, share + half))


def _against_random(scores: Scores, pairs: NDArray[np.bool_]) -> tuple[Scores, Scores]:
    """(seed that chooses, seed that judges): comparisons won or tied, and all that can be made,
    summed over the pairs of tables and all random models. `scores` is (tables, cells, seeds)."""
    there = np.isfinite(scores)
    filled = np.where(there, scores, -np.inf)
    best = filled.argmax(axis=1)  # (tables, seeds)
    beaten = np.stack([(table[:, None] >= table[None]).sum(axis=1) for table in filled])
    beaten -= (~there).sum(axis=1)[:, None]  # models without a score are not compared with
    won = np.where(there, beaten, 0.0)
    all_ = np.where(there, there.sum(axis=1)[:, None], 0)
    wins, valid = np.zeros((2, scores.shape[2], scores.shape[2]))
    for chosen_on, judged_on in enumerate(pairs):
        chooses = there[chosen_on].any(axis=0)[:, None]
        cells = best[chosen_on]
        wins += chooses * won[judged_on].sum(axis=0)[cells]
        valid += chooses * all_[judged_on].sum(axis=0)[cells]
    for table in (wins, valid):
        np.fill_diagonal(table, 0)  # another seed judges
    return wins, valid
