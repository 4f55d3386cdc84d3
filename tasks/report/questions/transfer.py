"""How often are transferred hyperparameters at least as good as a random model?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.report.comparable import beside_the_paper, papers_data
from tasks.report.frames import groups
from tasks.report.published import BEATS_RANDOM, SIX
from tasks.report.questions import Answer, Published, Question
from tasks.report.results import Column, Results

QUESTION = Question(
    "How often chosen hyperparameters do at least as well as a random model",
    section="papers",
    papers=(("locatello-2019", "Table 1"),),
)
ABOUT = (
    "The method and strength that score highest with one seed, on one metric and data set, "
    "against a random model, both judged with another seed; 10,000 draws."
)
DRAWS = 10_000
Scores = NDArray[np.float64]  # (cells, seeds), NaN where there is none


def answer(results: Results) -> Answer:
    return beside_the_paper(QUESTION, ABOUT, _rows(results), results.study)


def _rows(results: Results) -> Iterator[Published]:
    models = papers_data(results.models)
    metrics = {m.name: m for m in results.metrics if models[m.id].notna().any()}
    tables = score_tables(models, [metrics[name] for name in SIX if name in metrics])
    for (same_metric, same_data), published in BEATS_RANDOM.items():
        share = beats_random(tables, same_metric, same_data)
        if share is not None:
            yield Published(
                what=f"{'same' if same_metric else 'another'} metric, "
                f"{'same' if same_data else 'another'} data set",
                ours=share,
                published=published,
                place=QUESTION.place,
                percent=True,
                digits=1,
            )


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
) -> float | None:
    """The share of draws that the transferred choice wins or ties; None if none can be made."""
    pairs = [
        (chosen_on, judged_on)
        for chosen_on in tables
        for judged_on in tables
        if (chosen_on[1] == judged_on[1]) == same_metric
        and (chosen_on[0] == judged_on[0]) == same_data
    ]
    wins: list[bool] = []
    draws = np.random.default_rng(0)
    for pair in draws.integers(len(pairs), size=DRAWS) if pairs else ():
        chosen_on, judged_on = (tables[key] for key in pairs[pair])
        cells, seeds = judged_on.shape
        if cells < 2 or seeds < 2:
            return None
        first, second = draws.choice(seeds, size=2, replace=False, shuffle=True)
        scores = chosen_on[:, first]
        if np.isfinite(scores).any():
            transferred = judged_on[np.nanargmax(scores), second]
            random = judged_on[draws.integers(cells), second]
            if np.isfinite(transferred) and np.isfinite(random):
                wins.append(bool(transferred >= random))
    return float(np.mean(wins)) if wins else None
