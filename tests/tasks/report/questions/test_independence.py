"""Trends over strengths that are planted, and which codes are more correlated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tasks.report.questions import Figures, Sentence
from tasks.report.questions.independence import COLUMNS, MEAN, SAMPLED, answer, trends
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore

STRENGTHS = (1.0, 2.0, 4.0, 6.0, 8.0, 16.0)


def planted() -> pd.DataFrame:
    """Sampled codes: 10 / place; mean codes: place. So the mean's is more from the fourth on."""
    rows = [
        {"method": method, "strength": strength, "seed": seed, "place": place}
        for method in ("beta_vae", "factor_vae")
        for place, strength in enumerate(STRENGTHS, 1)
        for seed in range(3)
    ]
    models = pd.DataFrame(rows).assign(data="dsprites", source="redrawn")
    models = models.assign(**{column.id: 1.0 for column in COLUMNS})
    models[SAMPLED.id] = 10.0 / models["place"]
    models[MEAN.id] = models["place"].astype(float)
    models.loc[models["method"] == "factor_vae", MEAN.id] = 0.5
    models.loc[(models["seed"] == 2), SAMPLED.id] *= 1.01  # not the median
    return models.sample(frac=1, random_state=0)


def test_planted_trends_are_found() -> None:
    models = planted()
    first, second = sorted(trends(models), key=lambda row: row.method)
    sampled, mean, flat, _ = first.trends
    assert (sampled.rho, mean.rho) == pytest.approx((-1, 1)) and flat.rho is None
    assert (first.above, first.models) == (9, 18), "places 4, 5 and 6 of three seeds"
    assert second.trends[1].rho is None and second.above == 0
    few = models[models["strength"] < 5]
    assert all(row.trends[0].rho is None for row in trends(few)), "three strengths are too few"


def test_codes_of_one_kind_only_are_said_to_be_missing(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid(data=("dsprites",), metrics=("unsupervised",), pictures=False, curves=False)
    results = read_results(make_store(grid), grid.study())
    models = results.with_parts(COLUMNS).assign(**{MEAN.id: np.nan})
    monkeypatch.setattr(type(results), "with_parts", lambda results, columns: models)
    sentences = [part for part in answer(results).content if isinstance(part, Sentence)]
    (said,) = (sentence.text for sentence in sentences if sentence.kind == "missing")
    assert "no total correlation of mean and sampled codes." in said
    assert not any(sentence.kind == "finding" for sentence in sentences)


def test_logarithmic_axes_are_called_so(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), metrics=("unsupervised",), pictures=False, curves=False)
    content = answer(read_results(make_store(grid), grid.study())).content
    (figures,) = (one for one in content if isinstance(one, Figures))
    drawn = [figure for group in figures.groups for figure in group.figures]
    assert len(drawn) == len(COLUMNS) + 1
    assert all("logarithmic" in figure.subtitle for figure in drawn)


def test_the_place_of_a_strength_counts_and_not_its_size() -> None:
    models = planted()
    models["strength"] = np.exp(models["strength"])
    assert [row.trends[0].rho for row in trends(models)] == pytest.approx([-1, -1])
