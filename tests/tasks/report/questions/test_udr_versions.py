"""All versions of UDR with all scores: planted rank correlations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from tasks.report.questions import Sentence, Table
from tasks.report.questions.udr_versions import answer, of_versions
from tasks.report.results import Column, read_results
from tests.tasks.report.conftest import Grid, MakeStore

LASSO, SPEARMAN = Column("lasso", "one", "cell"), Column("spearman", "other", "method")
MIG, DCI = Column("mig", "MIG"), Column("dci", "DCI")
UNFAIR = Column("fairness", "unfairness", direction=-1)


def planted() -> pd.DataFrame:
    """Ten models of each of two methods: one version is MIG's order, the other against it."""
    draws = np.random.default_rng(4)
    good = draws.random(20)
    keys = {"data": "dsprites", "source": "redrawn", "method": ["beta_vae"] * 10 + ["mine"] * 10}
    scores = {MIG.id: good, LASSO.id: np.exp(good), SPEARMAN.id: -good, UNFAIR.id: good}
    wide = pd.DataFrame({**keys, **scores, DCI.id: draws.random(20)})
    wide.loc[10:, DCI.id] = 0.5  # all equal
    return wide.assign(strength=1.0, seed=range(20), model_id=[f"m{i}" for i in range(20)])


def test_planted_orders() -> None:
    wide = planted()
    beta, mine = of_versions(wide, [LASSO, SPEARMAN], [MIG, DCI])
    rho = spearmanr(wide[MIG.id][:10], wide[DCI.id][:10]).statistic
    assert beta.rho == pytest.approx(np.array([[1.0, rho], [-1.0, -rho]]))
    assert mine.rho == pytest.approx(np.array([[1.0, np.nan], [-1.0, np.nan]]), nan_ok=True)
    assert (beta.method, beta.models, mine.models) == ("beta_vae", 10, 10)


def test_the_table_has_every_version_and_their_means(make_store: MakeStore) -> None:
    grid = Grid(seeds=1, pictures=False)
    results = read_results(make_store(grid), grid.study())
    study = results.study.model_copy(update={"methods": {"beta_vae": (1.0,), "mine": (1.0,)}})
    wide = planted()
    columns = (MIG, DCI, UNFAIR, LASSO, SPEARMAN)
    answered = answer(replace(results, study=study, models=wide, columns=columns))
    (table,) = (content for content in answered.content if isinstance(content, Table))
    assert [heading.text for heading in table.headings[2:]] == ["MIG", "DCI", "Mean"]
    values = [[cell.value for cell in row.cells[2:]] for row in table.rows]
    rho = spearmanr(wide[MIG.id][:10], wide[DCI.id][:10]).statistic
    means = [(1 + rho) / 2, 1.0, (1 + 1 + rho) / 3]
    assert [row[-1] for row in values[::2]] == pytest.approx(means), "of scores, then of all"
    assert [row[-1] for row in values[1::2]] == pytest.approx([-mean for mean in means])
    assert values[4][:2] == pytest.approx([1.0, rho]), "over methods"
    assert values[2][1] is None
    deviation = np.std([1, 1, rho], ddof=1)
    assert table.rows[4].cells[-1].text.endswith(f"± {deviation:.2f}")
    finding = answered.content[0]
    assert isinstance(finding, Sentence) and finding.text.startswith("<b>one</b> has the highest")
    assert f"{means[2]:.2f} ± {deviation:.2f} over 3 cases" in finding.text
    alone = answer(replace(results, study=study, models=wide, columns=columns[:4]))
    assert not any(content.kind == "finding" for content in alone.content[:1])  # type: ignore[union-attr]
