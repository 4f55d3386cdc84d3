"""Studies that are not the papers': other rankings, settings, strengths and numbers of latents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from infra.tables import TABLES
from models import METHODS
from tasks.report.comparable import other_settings, with_grid
from tasks.report.page import write_report
from tasks.report.published import NEVER_OFF
from tasks.report.questions import (
    Answer,
    GridKind,
    Published,
    Sentence,
    Table,
    best,
    compare_methods,
    fairness,
    latents,
    quality,
    scores,
    what_decides,
)
from tasks.report.questions.strengths import chosen_strengths
from tasks.report.results import Column, Results, read_results
from tasks.wide_table import wide_table
from tests.tasks.report.conftest import Grid, MakeStore
from tests.tasks.report.parsed import checked

TWO = Grid(data=("dsprites",), methods={"beta_vae": (1.0, 4.0)}, seeds=6, pictures=False)
SWEPT = replace(
    TWO, methods={"beta_vae": (1.0, 4.0), NEVER_OFF: (1.0,)}, latents=(4, 10), steps=300_000
)


def text(answer: Answer) -> str:
    return " ".join(str(part.text) for part in answer.content if isinstance(part, Sentence))


def ranked_by(similarity: str, results: Results) -> Results:
    """The same numbers, as if another similarity had ranked the models."""
    columns = tuple(
        replace(c, name=similarity, title=similarity) if c.is_udr else c for c in results.columns
    )
    names = {
        old.id: new.id for old, new in zip(results.columns, columns, strict=True) if old.is_udr
    }
    return replace(results, columns=columns, models=results.models.rename(columns=names))


def test_a_ranking_that_is_not_udr_is_not_called_so(make_store: MakeStore) -> None:
    results = read_results(make_store(TWO), TWO.study())
    assert "By UDR" in text(best.answer(results)) and "UDR of" in text(best.answer(results))
    low = results.models.assign(**{c.id: 0.1 for c in results.rankings})
    assert "below 0.3 in Duan" in text(best.answer(replace(results, models=low)))
    said = text(best.answer(ranked_by("cka", replace(results, models=low))))
    assert "UDR" not in said and "Duan" not in said and "CKA" in said


def test_fairness_is_compared_for_the_papers_udr_only(make_store: MakeStore) -> None:
    grid = replace(TWO, metrics=("beta_vae", "factor_vae", "mig", "dci", "fairness"))
    results = read_results(make_store(grid), grid.study())
    udr, four = fairness.answer(results).published
    assert fairness.OTHER_RANKING not in udr.why_not and fairness.OF_OTHERS in four.why_not
    udr, _ = fairness.answer(ranked_by("cka", results)).published
    assert udr.ours is not None and fairness.OTHER_RANKING in udr.why_not


def test_a_score_that_strengths_lack_is_compared_over_the_others() -> None:
    udr, mig = Column("lasso", "UDR", "cell"), Column("mig", "mig")
    rows = [
        {"strength": strength, "seed": seed, udr.id: by_udr, mig.id: by_mig}
        for strength, by_udr, by_mig in ((1.0, 0.2, 0.3), (2.0, 0.5, 0.6), (4.0, 0.9, np.nan))
        for seed in range(3)
    ]
    models = pd.DataFrame(rows).assign(data="dsprites", source="redrawn", method="beta_vae")
    choices = chosen_strengths(models, [mig, udr])
    assert choices is not None and choices.rows[0].chosen == ((2.0,), (4.0,))
    assert choices.rows[0].agrees == (True, None), "of 1 and 2 both choose 2"
    assert (choices.same, choices.by_chance) == (1, pytest.approx(0.5))


def test_where_less_is_better_the_lower_model_is_better(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), metrics=("fairness",), seeds=6, pictures=False)
    said = text(compare_methods.answer(read_results(make_store(grid), grid.study())))
    assert "is better than one of" in said and "scores higher" not in said


def test_no_ranking_is_said_to_be_at_an_end(make_store: MakeStore) -> None:
    names = ("mig", "sap", "dci", "beta_vae", "factor_vae", "modularity", "mig_sup", "jemmig")
    grid = replace(TWO, metrics=(*names, "irs", "dcimig"))
    results = read_results(make_store(grid), grid.study())
    assert "UDR is at its right end" in text(scores.answer(results))
    others = replace(results, columns=tuple(results.metrics))
    said = text(scores.answer(others))
    assert "wider than the page" in said and "right end" not in said


def test_swept_latents_are_not_set_beside_numbers_of_methods(make_store: MakeStore) -> None:
    store = make_store(SWEPT)
    results = read_results(store, SWEPT.study())
    said = text(latents.answer(results))
    assert "In Duan et al. 2020" not in said
    assert "over 24 models of all methods but DIP-VAE-I" in said, "6 seeds, 2 strengths, 2 numbers"
    decided = what_decides.answer(results)
    assert "The paper’s" not in text(decided)
    tables = [part for part in decided.content if isinstance(part, Table)]
    cells = [cell for table in tables for row in table.rows for cell in row.cells]
    assert cells and not any("paper" in below for cell in cells for below in cell.below)
    kept = wide_table(store, SWEPT.study())
    assert set(kept["method"]) == {"beta_vae", NEVER_OFF} and set(kept["latents"]) == {4, 10}
    page = checked(write_report(store, SWEPT.study()))
    assert "Kumar" in page.html, "the paper of DIP-VAE is cited"


def test_the_mean_of_duan_et_al_is_of_three_data_sets(make_store: MakeStore) -> None:
    results = read_results(make_store(TWO), TWO.study())
    (row,) = latents.answer(results).published
    assert row.published_n == 3 * 5 * 6 * 50, "without DIP-VAE-I"


def test_the_papers_row_is_of_its_strengths_where_all_are_there() -> None:
    columns = [*(Column(name, name) for name in ("beta_vae", "factor_vae", "mig", "dci"))]
    columns.append(Column("lasso", "UDR", "method"))
    draws = np.random.default_rng(0)
    cells = [
        (data, method, strength)
        for data in quality.TABLE_7.data
        for method in quality.TABLE_7.methods
        for strength in METHODS[method].strengths
    ]
    rows = [
        {"data": data, "source": "redrawn", "method": method, "strength": strength, "seed": seed}
        | {column.id: draws.random() for column in columns}
        for data, method, strength in cells
        for seed in range(3)
    ]
    models = pd.DataFrame(rows).assign(architecture="paper", latents=10)
    more = models.assign(strength=1000.0, **{columns[-1].id: models[columns[0].id]})

    def papers(of: pd.DataFrame) -> float | None:
        (row,) = (row for row in quality.quality(of, columns) if "on its data sets" in row.title)
        return row.rankings[0].mean

    assert papers(pd.concat([models, more], ignore_index=True)) == papers(models) is not None


def test_a_further_difference_makes_a_whole_grid_another_one(make_store: MakeStore) -> None:
    class Whole:
        def reasons(self, study: object, models: object) -> Iterator[tuple[GridKind, str]]:
            return iter(())

    row, study = Published("UDR", 0.5, 0.6, "a table"), TWO.study()
    same, other = (
        with_grid(row, study, pd.DataFrame(), Whole(), differs) for differs in ("", "of others")
    )
    assert (same.grid, same.why_not) == ("full", "")
    assert (other.grid, other.why_not) == ("other settings", "of others")


@pytest.mark.parametrize("name", ["points", "test_points", "group_size"])
def test_other_settings_of_metrics_are_named(name: str) -> None:
    study = TWO.study()
    assert other_settings(study) == ""
    changed = study.model_copy(update={"metrics": study.metrics.model_copy(update={name: 7})})
    assert f"metrics.{name} 7, the papers" in other_settings(changed)


def test_the_foot_of_the_page_names_tables_and_keys(make_store: MakeStore) -> None:
    page = checked(write_report(make_store(TWO), TWO.study()))
    assert f"<code>../tables</code>: {', '.join(TABLES)}." in page.html
    assert "strength, architecture, latents, seed, protocol" in page.html
