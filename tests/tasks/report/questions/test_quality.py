"""How well UDR agrees with labels: means, chosen strengths and uninformative latents."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from tasks.report import published
from tasks.report.frames import groups
from tasks.report.questions.quality import QualityRow, quality
from tasks.report.results import Column

METHOD = Column("lasso", "UDR, all strengths", "method")
CELL = Column("lasso", "UDR, same strength", "cell")
SPEARMAN = Column("spearman", "UDR, Spearman", "cell")
CV = Column("lasso_cv", "UDR, cv", "cell")
FOUR = [Column(name, name) for name in published.FOUR]
SAP = Column("sap", "sap")
TASK = Column("downstream_trees", "task")
UNFAIR = Column("fairness", "unfairness", direction=-1)
CORRELATION = Column("unsupervised", "total correlation", direction=0)
EVERY = [*FOUR, SAP, TASK, UNFAIR, CORRELATION, METHOD, CELL]


def models_of(n: int, draws: np.random.Generator, **constant: Any) -> pd.DataFrame:
    """Models of one data set and method with correlated scores, some missing, some tied."""
    keys = {"data": "dsprites", "source": "redrawn", "method": "beta_vae", **constant}
    good = draws.random(n)
    scores = {c.id: np.round(good + draws.normal(0, 0.4, n), 1) for c in EVERY}
    wide = pd.DataFrame({**scores, "strength": np.arange(n) % 3 + 1.0, "seed": np.arange(n) // 3})
    wide.loc[draws.random(n) < 0.2, SAP.id] = np.nan
    wide.loc[draws.random(n) < 0.1, METHOD.id] = np.nan
    return wide.assign(**keys, informative=7.0, collapsed=False)


@pytest.fixture
def wide() -> pd.DataFrame:
    draws = np.random.default_rng(5)
    parts = [
        models_of(30, draws),
        models_of(25, draws, method="factor_vae"),
        models_of(20, draws, data="shapes3d"),
        models_of(4, draws, data="shapes3d", method="factor_vae"),  # too few
        models_of(12, draws, data="cars3d").assign(**{SAP.id: 0.5, CELL.id: 0.3}),
    ]
    return pd.concat(parts, ignore_index=True)


def plain(wide: pd.DataFrame, pairs: list[tuple[Column, Column]]) -> tuple[list[float], int]:
    """Correlations one by one, as scipy gives them, and the models of groups that have any."""
    correlations, models = [], 0
    for _, rows in groups(wide, ["data", "source", "method"]):
        largest = 0
        for one, other in pairs:
            both = rows[[one.id, other.id]].dropna()
            if len(both) < 5 or (both.nunique() < 2).any():
                continue
            sign = (one.direction or 1) * (other.direction or 1)
            correlations.append(sign * float(spearmanr(both[one.id], both[other.id]).statistic))
            largest = max(largest, len(both))
        models += largest
    return correlations, models


def by_title(rows: list[QualityRow]) -> dict[str, QualityRow]:
    return {row.title: row for row in rows}


def test_one_correlation_by_hand() -> None:
    """Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6·4 / (5·24) = 0.8; unfairness is the other way round."""
    wide = models_of(5, np.random.default_rng(0))
    wide[METHOD.id] = [0.1, 0.2, 0.3, 0.4, 0.5]
    wide[FOUR[2].id] = [20.0, 10.0, 40.0, 30.0, 50.0]
    wide[UNFAIR.id] = [0.9, 0.8, 0.7, 0.6, 0.5]
    mig, unfair = quality(wide, [FOUR[2], UNFAIR, METHOD])
    assert mig.rankings[0].mean == pytest.approx(0.8)
    assert (mig.rankings[0].deviation, mig.others) == (None, None), "one correlation, one metric"
    assert (mig.rankings[0].correlations, mig.rankings[0].models) == (1, 5)
    assert unfair.rankings[0].mean == pytest.approx(1.0)
    assert unfair.others and unfair.others.mean == pytest.approx(0.8)


def test_means_are_those_of_a_plain_loop(wide: pd.DataFrame) -> None:
    rows = by_title(quality(wide, EVERY))
    disentangled = [*FOUR, SAP]
    wanted: dict[str, tuple[list[Column], list[tuple[Column, Column]]]] = {
        "Mean of the paper's four": (FOUR, list(combinations(FOUR, 2))),
        "Mean of all 5": (disentangled, list(combinations(disentangled, 2))),
    }
    papers = "Mean of the paper's four, on its data sets and methods"
    assert rows.pop(papers).is_mean
    for column in [*disentangled, TASK, UNFAIR, CORRELATION]:
        wanted[column.title] = (
            [column],
            [(column, other) for other in disentangled if other != column],
        )
    assert rows.keys() == wanted.keys()
    for title, (metrics, others) in wanted.items():
        row = rows[title]
        cases = [
            (mean, [(metric, ranking) for metric in metrics])
            for mean, ranking in zip(row.rankings, (METHOD, CELL), strict=True)
        ]
        for mean, pairs in [*cases, (row.others, others)]:
            values, models = plain(wide, pairs)
            assert mean is not None
            assert mean.mean == pytest.approx(np.mean(values))
            assert mean.deviation == pytest.approx(np.std(values, ddof=1))
            assert (mean.correlations, mean.models) == (len(values), models)
    assert [row.title for row in rows.values() if row.is_mean] == list(wanted)[:2]
    assert [rows[c.title].why_in_no_mean for c in (TASK, UNFAIR, CORRELATION)] == [
        "a task",
        "less is better, sign reversed",
        "no direction",
    ]


def test_no_number_without_a_reason() -> None:
    few = models_of(4, np.random.default_rng(1)).assign(**{METHOD.id: 0.1})
    mig = quality(few, [FOUR[2], METHOD])[0].rankings[0]
    assert (mig.mean, mig.deviation, mig.reason) == (None, None, "too few models, n = 4")
    equal = models_of(9, np.random.default_rng(1)).assign(**{METHOD.id: 0.1})
    mig = quality(equal, [FOUR[2], METHOD])[0].rankings[0]
    assert (mig.mean, mig.reason) == (None, "all equal, n = 9")
    missing = equal.assign(**{METHOD.id: np.nan})
    assert quality(missing, [FOUR[2], METHOD])[0].rankings[0].reason == "not scored"


def test_the_papers_numbers_stand_beside_the_same_thing_only(wide: pd.DataFrame) -> None:
    draws = np.random.default_rng(2)
    wide = wide.assign(**{c.id: draws.random(len(wide)) for c in (SPEARMAN, CV)})
    columns = [*EVERY, SPEARMAN, CV]
    rows = by_title(quality(wide, columns))
    four = rows["Mean of the paper's four, on its data sets and methods"]
    assert [mean.published for mean in four.rankings] == [
        (0.60, 0.11),
        (0.54, 0.06),
        (0.53, 0.07),
        (0.54, 0.06),
    ]
    assert four.others and four.others.published == (0.67, 0.2)
    without = [*rows["mig"].rankings, *rows["Mean of all 5"].rankings]
    assert {mean.published for mean in without} == {None}
    three = by_title(quality(wide, [*FOUR[:3], METHOD]))
    assert three["Mean of 3 of the paper's four"].rankings[0].published is None


def test_the_papers_row_is_over_its_own_data_sets_and_methods(wide: pd.DataFrame) -> None:
    draws = np.random.default_rng(7)
    dip = models_of(15, draws, data="shapes3d", method="dip_vae_ii")
    rows = by_title(quality(pd.concat([wide, dip], ignore_index=True), EVERY))
    of_paper = pd.concat([wide[(wide.method == "beta_vae") & (wide.data != "cars3d")], dip])
    row = rows["Mean of the paper's four, on its data sets and methods"]
    values, models = plain(of_paper, [(metric, METHOD) for metric in FOUR])
    assert row.rankings[0].mean == pytest.approx(np.mean(values))
    assert (row.rankings[0].correlations, row.rankings[0].models) == (12, models)
    other = rows["Mean of the paper's four"].rankings[0]
    assert other.correlations > 12 and other.published is None
