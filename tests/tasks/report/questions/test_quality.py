"""How well UDR agrees with labels: means, chosen strengths and uninformative latents."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from tasks.report.choices import chosen_strengths
from tasks.report.quality import QualityRow, quality, switched_off
from tasks.report.tables import Column

from tasks.report import published
from tasks.report.frames import groups

METHOD = Column("udr lasso method", "UDR, all strengths", True, "method")
CELL = Column("udr lasso cell", "UDR, same strength", True, "cell")
SPEARMAN = Column("udr spearman cell", "UDR, Spearman", True, "cell")
CV = Column("udr lasso_cv cell", "UDR, cv", True, "cell")
FOUR = [Column(f"metric {name}", name, False) for name in published.FOUR]
SAP = Column("metric sap", "sap", False)
TASK = Column("metric downstream_trees", "task", False)
UNFAIR = Column("metric fairness", "unfairness", False, "", -1)
CORRELATION = Column("metric unsupervised", "total correlation", False, "", 0)
EVERY = [*FOUR, SAP, TASK, UNFAIR, CORRELATION, METHOD, CELL]


def models_of(n: int, draws: np.random.Generator, **constant: Any) -> pd.DataFrame:
    """Models of one data set and method with correlated scores, some missing, some tied."""
    keys = {"data": "dsprites", "source": "redrawn", "method": "beta_vae", **constant}
    good = draws.random(n)
    scores = {c.key: np.round(good + draws.normal(0, 0.4, n), 1) for c in EVERY}
    wide = pd.DataFrame({**scores, "strength": np.arange(n) % 3 + 1.0, "seed": np.arange(n) // 3})
    wide.loc[draws.random(n) < 0.2, SAP.key] = np.nan
    wide.loc[draws.random(n) < 0.1, METHOD.key] = np.nan
    return wide.assign(**keys, informative=7.0, collapsed=False)


@pytest.fixture
def wide() -> pd.DataFrame:
    draws = np.random.default_rng(5)
    parts = [
        models_of(30, draws),
        models_of(25, draws, method="factor_vae"),
        models_of(20, draws, data="shapes3d"),
        models_of(4, draws, data="shapes3d", method="factor_vae"),  # too few
        models_of(12, draws, data="cars3d").assign(**{SAP.key: 0.5, CELL.key: 0.3}),
    ]
    return pd.concat(parts, ignore_index=True)


def plain(wide: pd.DataFrame, pairs: list[tuple[Column, Column]]) -> tuple[list[float], int]:
    """Correlations one by one, as scipy gives them, and the models of groups that have any."""
    found, models = [], 0
    for _, rows in groups(wide, ["data", "source", "method"]):
        largest = 0
        for one, other in pairs:
            both = rows[[one.key, other.key]].dropna()
            if len(both) < 5 or (both.nunique() < 2).any():
                continue
            sign = (one.direction or 1) * (other.direction or 1)
            found.append(sign * float(spearmanr(both[one.key], both[other.key]).statistic))
            largest = max(largest, len(both))
        models += largest
    return found, models


def by_title(rows: list[QualityRow]) -> dict[str, QualityRow]:
    return {row.title: row for row in rows}


def test_one_correlation_by_hand() -> None:
    """Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6·4 / (5·24) = 0.8; unfairness is the other way round."""
    wide = models_of(5, np.random.default_rng(0))
    wide[METHOD.key] = [0.1, 0.2, 0.3, 0.4, 0.5]
    wide["metric mig"] = [20.0, 10.0, 40.0, 30.0, 50.0]
    wide[UNFAIR.key] = [0.9, 0.8, 0.7, 0.6, 0.5]
    mig, unfair = quality(wide, [FOUR[2], UNFAIR, METHOD], False)
    assert mig.rankings[0].mean == pytest.approx(0.8)
    assert (mig.rankings[0].deviation, mig.others) == (None, None), "one correlation, one metric"
    assert (mig.rankings[0].correlations, mig.rankings[0].models) == (1, 5)
    assert unfair.rankings[0].mean == pytest.approx(1.0)
    assert unfair.others and unfair.others.mean == pytest.approx(0.8)


def test_means_are_those_of_a_plain_loop(wide: pd.DataFrame) -> None:
    rows = by_title(quality(wide, EVERY, False))
    disentangled = [*FOUR, SAP]
    wanted: dict[str, tuple[list[Column], list[tuple[Column, Column]]]] = {
        "Mean of the paper's four": (FOUR, list(combinations(FOUR, 2))),
        "Mean of all 5": (disentangled, list(combinations(disentangled, 2))),
    }
    for one in [*disentangled, TASK, UNFAIR, CORRELATION]:
        wanted[one.title] = ([one], [(one, other) for other in disentangled if other != one])
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
    assert [rows[c.title].aside for c in (TASK, UNFAIR, CORRELATION)] == [
        "a task",
        "less is better, sign turned",
        "no direction",
    ]


def test_no_number_without_a_reason() -> None:
    few = models_of(4, np.random.default_rng(1)).assign(**{METHOD.key: 0.1})
    mig = quality(few, [FOUR[2], METHOD], False)[0].rankings[0]
    assert (mig.mean, mig.deviation, mig.reason) == (None, None, "too few models, n = 4")
    equal = models_of(9, np.random.default_rng(1)).assign(**{METHOD.key: 0.1})
    mig = quality(equal, [FOUR[2], METHOD], False)[0].rankings[0]
    assert (mig.mean, mig.reason) == (None, "all equal, n = 9")
    missing = equal.assign(**{METHOD.key: np.nan})
    assert quality(missing, [FOUR[2], METHOD], False)[0].rankings[0].reason == "not scored"


def test_the_papers_numbers_stand_beside_the_same_thing_only(wide: pd.DataFrame) -> None:
    draws = np.random.default_rng(2)
    wide = wide.assign(**{c.key: draws.random(len(wide)) for c in (SPEARMAN, CV)})
    shown = [*EVERY, SPEARMAN, CV]
    rows = by_title(quality(wide, shown, True))
    four = rows["Mean of the paper's four"]
    assert [mean.theirs for mean in four.rankings] == [
        (0.60, 0.11),
        (0.54, 0.06),
        (0.53, 0.07),
        (0.54, 0.06),
    ]
    assert four.others and four.others.theirs == (0.67, 0.2)
    unfair = rows["unfairness"]
    assert [m.theirs and m.theirs[0] for m in unfair.rankings] == [None, 0.8, None, 0.8]
    assert unfair.others and unfair.others.theirs == (0.72, None)
    assert {m.theirs for title in ("mig", "Mean of all 5") for m in rows[title].rankings} == {None}
    assert not any(m.theirs for row in quality(wide, shown, False) for m in row.rankings)
    three = by_title(quality(wide, [*FOUR[:3], METHOD], True))
    assert three["Mean of 3 of the paper's four"].rankings[0].theirs is None


def cells(medians: dict[float, dict[str, float]]) -> pd.DataFrame:
    """Cells of three seeds whose scores have these medians; their means are the other way round."""
    rows = [
        {"strength": strength, "seed": seed}
        | {k: (v - 0.01, v, v + 50 * (10 - v))[seed] for k, v in scores.items()}
        for strength, scores in medians.items()
        for seed in range(3)
    ]
    return pd.DataFrame(rows).assign(data="dsprites", source="redrawn", method="beta_vae")


def test_chosen_strengths_by_hand() -> None:
    mig, sap = FOUR[2], SAP
    shown = [mig, sap, UNFAIR, CORRELATION, METHOD, CELL]
    wide = cells(
        {
            1.0: dict(zip([c.key for c in shown], (0.1, 0.9, 0.8, 7.0, 0.9, 0.1), strict=True)),
            2.0: dict(zip([c.key for c in shown], (0.5, 0.1, 0.2, 8.0, 0.1, 0.5), strict=True)),
            4.0: dict(zip([c.key for c in shown], (0.5, 0.1, 0.4, 9.0, 0.2, 0.3), strict=True)),
        }
    )
    found = chosen_strengths(wide, shown)
    assert found is not None
    assert found.udr == CELL, "for strengths the paper prefers the comparison within a cell"
    assert found.columns == (mig, sap, UNFAIR, METHOD, CELL), "no direction, no choice"
    (row,) = found.rows
    assert row.chosen == ((2.0, 4.0), (1.0,), (2.0,), (1.0,), (2.0,))
    assert row.agrees == (True, False, True, None, None)
    assert (found.same, found.compared, found.seeds) == (2, 3, 3)
    assert found.by_chance == pytest.approx(1.0)


def test_where_all_medians_are_equal_nothing_is_chosen() -> None:
    mig = FOUR[2]
    wide = cells({1.0: {mig.key: 0.5, METHOD.key: 0.1}, 2.0: {mig.key: 0.5, METHOD.key: 0.2}})
    assert chosen_strengths(wide, [mig, METHOD]) is None
    other = wide.assign(method="factor_vae", **{mig.key: wide["strength"]})
    found = chosen_strengths(pd.concat([wide, other]), [mig, METHOD])
    assert found is not None and found.udr == METHOD
    assert [row.agrees for row in found.rows] == [(None, None), (True, None)]
    assert [row.chosen[0] for row in found.rows] == [(), (2.0,)]
    assert (found.compared, found.by_chance) == (1, 0.5)


@pytest.mark.parametrize("missing", [METHOD.key, FOUR[2].key])
def test_without_udr_or_labels_there_is_no_choice(missing: str) -> None:
    mig = FOUR[2]
    wide = cells({1.0: {mig.key: 0.1, METHOD.key: 0.1}, 2.0: {mig.key: 0.5, METHOD.key: 0.2}})
    assert chosen_strengths(wide, [mig, METHOD]) is not None
    assert chosen_strengths(wide.assign(**{missing: np.nan}), [mig, METHOD]) is None
    assert chosen_strengths(wide[wide["strength"] == 1], [mig, METHOD]) is None


def test_switched_off_latents_by_hand() -> None:
    wide = pd.DataFrame(
        {
            "method": ["beta_vae", "beta_vae", "factor_vae", "factor_vae"],
            "informative": [10.0, 6.0, 5.0, np.nan],
        }
    )
    every, beta, factor = switched_off(wide, 10)
    assert (every.title, beta.title, factor.title) == ("All methods", "β-VAE", "FactorVAE")
    assert (every.mean, every.deviation, every.models) == (3.0, pytest.approx(7**0.5), 3)
    assert (beta.mean, beta.deviation) == (2.0, pytest.approx(8**0.5))
    assert (factor.mean, factor.deviation, factor.models) == (5.0, None, 1)
    assert len(switched_off(wide.iloc[:2], 10)) == 1, "one method is not listed twice"
    assert switched_off(wide.assign(informative=np.nan), 10) == []
    assert switched_off(wide, None) == []
