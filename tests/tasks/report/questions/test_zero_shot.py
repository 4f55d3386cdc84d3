"""Table 5 and Figure 4 of Eastwood and Williams 2018: errors on the gap, and its pictures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.report.kinds import RegressorScores, by_data
from tasks.report.published import KINDS, KINDS_DATA
from tasks.report.questions import Portraits, Sentence, Table
from tasks.report.questions.zero_shot import GAP, TEST, answer, growth
from tasks.report.results import Results, read_results
from tests.tasks.report import teapots
from tests.tasks.report.conftest import Grid, MakeStore, without
from tests.tasks.report.questions.test_kinds_of_models import GRID, LATENTS, results_of


def test_table_5_has_the_codes_scaling(make_store: MakeStore) -> None:
    rows = answer(results_of(make_store)).published
    assert len(rows) == 2 * len(KINDS) * 6
    (row,) = (row for row in rows if row.what == "InfoGAN, λ = 6: NRMSE on the gap of red, lasso")
    own = [
        value
        for seed in range(3)
        for part, factor, value in teapots.scores("dci_lasso", "infogan", 6.0, seed, LATENTS)
        if (part, factor) == ("nrmse_zero_shot_own", "red")
    ]
    assert row.ours == pytest.approx(sum(own) / 3) and row.published == 0.93


def test_growth_is_of_the_same_scaling_and_of_each_seed(make_store: MakeStore) -> None:
    """The made-up error on the gap is 1.5 times that on test rows."""
    results = results_of(make_store)
    (of_data,) = sets = by_data(results)
    scores = RegressorScores(results, sets, [TEST, GAP])
    for kind in of_data.kinds:
        grown = growth(kind, "dci_lasso", scores)
        assert grown.mean == pytest.approx(1.5) and grown.n == 3
    texts = [str(c.text) for c in answer(results).content if isinstance(c, Sentence)]
    findings = [text for text in texts if "times that on test rows" in text]
    assert len(findings) == 2
    assert all("InfoGAN, λ = 6 has the smallest error on the gap" in text for text in findings)
    assert any("not known which" in text for text in texts)
    assert any("printed gap" in text for text in texts)


def test_the_gaps_pictures_are_of_the_first_seed_of_each_kind(make_store: MakeStore) -> None:
    results = results_of(make_store)
    (portraits,) = (c for c in answer(results).content if isinstance(c, Portraits))
    (group,) = portraits.groups
    assert [portrait.heading for portrait in group.portraits] == [
        "PCA",
        "β-VAE, β = 1",
        "β-VAE, β = 6",
        "InfoGAN, λ = 6",
    ]
    first = results.models.loc[results.models["seed"] == 0, "model_id"]
    pictures = [portrait.zero_shot for portrait in group.portraits]
    assert [p.name for p in pictures if p] == [f"{model_id}-zero_shot.webp" for model_id in first]
    assert all(p.traversal is None and p.reconstruction is None for p in group.portraits)


def test_pictures_and_scores_do_without_each_other(make_store: MakeStore) -> None:
    store = make_store(GRID)
    without("pictures")(store)
    content = answer(read_results(store, GRID.study())).content
    assert not [c for c in content if isinstance(c, Portraits)]
    assert [c for c in content if isinstance(c, Table)]
    unscored = answer(results_of(make_store, replace(GRID, metrics=("mig",))))
    assert [c for c in unscored.content if isinstance(c, Portraits)]
    assert {row.grid for row in unscored.published} == {"not computed"}


def test_without_a_gap_it_says_so(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), methods={"beta_vae": (1.0,)}, metrics=("dci_lasso",))
    results: Results = results_of(make_store, grid)
    assert answer(results).is_missing and not answer(results).published
    assert KINDS_DATA not in {choice.name for choice in results.study.data}
