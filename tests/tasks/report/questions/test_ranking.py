"""What the page says of the ranking: with labels, without them, in small and in large studies."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from infra.store import Store
from tasks.report.page import write_report
from tasks.report.questions import QUESTIONS, load
from tasks.report.questions.ranking import FIRST, LAST, rankings
from tasks.report.results import read_results
from tasks.words import number
from tests.tasks.report.conftest import Grid, MakeStore, blank_column, fill_pairs
from tests.tasks.report.parsed import checked, section

FOUR = ("beta_vae", "factor_vae", "mig", "dci")
GRID = Grid(
    data=("dsprites", "shapes3d"),
    seeds=12,
    steps=300_000,
    metrics=(*FOUR, "fairness", "downstream_trees"),
    curves=False,
)


def made(make_store: MakeStore, grid: Grid, *names: str) -> tuple[Store, str]:
    """A store with pairs, and the report's sections of these names."""
    store = make_store(grid)
    fill_pairs(store)
    return store, written(store, grid, *names)


def written(store: Store, grid: Grid, *names: str) -> str:
    wanted = [name for name in QUESTIONS if name in names or load(name)[0].section in names]
    return checked(write_report(store, grid.study(), wanted)).html


def alone(html: str, name: str) -> str:
    """The words of a question, without those that follow it on its page."""
    start = html.index(f'<section id="{name}">')
    end = html.find('<section id="', start + 1)
    return section(html[start:end] + "</main>", name)


def wide_of(store: Store, grid: Grid) -> pd.DataFrame:
    return read_results(store, grid.study()).models


def test_the_section_says_how_good_the_ranking_is(make_store: MakeStore) -> None:
    grid = replace(GRID, pictures=False)
    store, html = made(make_store, grid, "quality", "ranking")
    text, wide = section(html, "quality"), wide_of(store, grid)
    rhos = [
        rows[f"metric {metric}"].corr(rows["udr lasso cell"], method="spearman")
        for _, rows in wide.groupby(["data", "method"])
        for metric in FOUR
    ]
    mean = f"{number(float(np.mean(rhos)), 2)} ± {number(float(np.std(rhos, ddof=1)), 2)}"
    assert re.search(rf"Mean of the paper's four .*? {mean} 16 correlations, n = 96 ", text)
    assert re.search(
        r"Mean of the paper's four, on its data sets and methods .*? n = 48 paper: 0.54", text
    )
    assert "paper: 0.60 ± 0.11" in text and "paper: 0.67 ± 0.20" in text
    assert re.search(r"Unfairness less is better, sign reversed −0\.\d\d", text)
    assert re.search(r"Downstream, trees a task 0\.\d\d", text)
    assert "The same in the paper UDR, same strength 0.51 ± 0.07 0.57 ± 0.03" in text
    off = 10 - wide["informative"]
    latents = section(html, "ranking")
    assert f"on average {number(off.mean(), 2)} ± {number(off.std(), 2)} over 96 models" in latents
    assert "2.95 ± 1.97 of 10" in latents
    chosen = re.search(r"choose the same strength of a method in (\d+) of 24 cases", text)
    assert chosen and "by chance it would be 50%" in text
    assert html.count('class="agrees figure-column"') == int(chosen[1])
    descriptions = re.findall(r'aria-label="Rank correlation of UDR and [^"]*"', html)
    assert len(descriptions) == 2 * 4, "data sets, metrics; the task and fairness in the table"
    assert all(
        "with 5 comparisons" in description and "FactorVAE" in description
        for description in descriptions
    )


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"steps": 120}, "120 training steps are too few to compare with them"),
        ({"sources": {"shapes3d": "look-alike"}}, "some of the pictures are not the paper's"),
    ],
)
def test_the_papers_numbers_stand_beside_the_papers_data_and_training_only(
    make_store: MakeStore, changed: dict[str, object], sentence: str
) -> None:
    _, html = made(make_store, replace(GRID, pictures=False, **changed), "quality", "ranking")
    text = section(html, "quality") + section(html, "ranking")
    assert sentence in text
    for words in ("paper: ", "The same in the paper", "2.95", "ten seeds"):
        assert words not in text


def test_a_small_study_says_that_it_is_too_small(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites",), seeds=2, metrics=("mig", "factor_vae"))
    html = made(make_store, grid, "quality", "ranking")[1]
    text = section(html, "quality")
    assert "No mean correlation of any score: a method needs 5 models on a data set" in text
    assert "No curve: it needs the table of pairs" in text
    assert "some of these medians are of 2 models only." in text
    assert "Uninformative latents" in section(html, "ranking")


def test_without_pairs_there_is_no_curve_but_all_the_rest(make_store: MakeStore) -> None:
    grid = replace(GRID, pictures=False)
    text = section(written(make_store(grid), grid, "quality"), "quality")
    assert "No curve: it needs the table of pairs" in text
    assert "Mean of the paper's four" in text and "choose the same strength" in text


def test_models_without_labels_are_ranked_and_shown(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("mine",), sources={"mine": "user"}, metrics=("mig",), seeds=4)
    store = make_store(grid)
    blank_column(store, "scores", "value", None)
    blank_column(store, "scores", "reason", "the pictures have no factors")
    page = checked(write_report(store, grid.study()))
    assert "No score of this study says which model is better" not in page.text
    for question in ("Which factors are found", "How good is the ranking", "Beside the papers"):
        assert question not in page.text, "it can never be answered for these pictures"
    assert "no answer yet" not in page.text, "nothing is left to run"
    assert "Uninformative latents" in page.text
    wide = wide_of(store, grid).sort_values("udr lasso method", ascending=False)
    text = alone(page.html, "ranking")
    assert "mine user The first and the last of 16 ranked models" in text
    row = r" (\d+) [0-9a-f]{16} (?:β-VAE|FactorVAE) [βγ] = \S+ \d+ (\S+) (\d+) of 10"
    places = re.findall(row, text)
    in_table = [*range(FIRST), *range(16 - LAST, 16)]
    assert places == [
        (str(i + 1), number(row["udr lasso method"]), f"{row['informative']:.0f}")
        for i, row in enumerate(wide.to_dict("records"))
        if i in in_table
    ]
    assert "3 models between" in text
    assert re.findall(r"[0-9a-f]{16}", text) == [wide["model_id"].iloc[i] for i in in_table]
    assert "MIG" not in text
    pictures = section(page.html, "pictures")
    for role, place in (("best", 0), ("worst", -1)):
        rows = wide[wide["method"] == "beta_vae"].iloc[place]
        caption = f"Traversal of the {role} model on mine with β-VAE: a row per latent"
        before = pictures.split(caption)[0]
        assert rows["model_id"] in before.rsplit(f"{role.title()} by UDR", 1)[-1]
        assert f"informative latents {rows['informative']:.0f} of 10" in before[-120:]
    assert "MIG" not in pictures, "what no picture has is not shown as missing of each"


def test_with_labels_the_ranking_shows_the_scores(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites",), seeds=3, metrics=("mig",))
    store, html = made(make_store, grid, "ranking")
    text, wide = section(html, "ranking"), wide_of(store, grid)
    assert "12 ranked models" in text and "between" not in text
    for row in wide.to_dict("records"):
        numbers = (row["udr lasso cell"], row["metric mig"])
        after = text.partition(row["model_id"])[2]
        assert " ".join(map(number, numbers)) in after[:80], "the id stands next to the place"


def test_equal_models_are_ranked_by_id_and_the_unranked_left_out(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites",), seeds=3, metrics=("mig",))
    store = make_store(grid)
    results = read_results(store, grid.study())
    udr = results.udr
    assert udr is not None and udr.pool == "method"
    wide = results.models.assign(**{udr.id: 0.5})
    wide.loc[wide.index[5], udr.id] = np.nan
    wide.loc[wide.index[6], "collapsed"] = True
    wide.loc[wide.index[6], udr.id] = 0.0
    (ranking,) = rankings(wide, results.columns, udr)
    ids = [model.model_id for model in ranking.models]
    last = wide["model_id"].iloc[6]
    assert ids == [*sorted(set(wide["model_id"]) - {last, wide["model_id"].iloc[5]}), last]
    assert (ranking.all, ranking.models[-1].collapsed, ranking.models[-1].place) == (11, True, 11)
    assert ranking.columns[0] == udr


def test_where_less_is_better_the_sign_is_turned_in_the_table(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites",), metrics=("fairness", "mig", "jemmig"), pictures=False)
    store, html = made(make_store, grid, "udr")
    wide = wide_of(store, grid)
    rho = wide["metric fairness"].corr(wide["udr lasso method"], method="spearman")
    text = section(html, "udr")
    wanted = f"UDR, all strengths Unfairness (sign reversed) {number(-rho, 2)} n = 48"
    assert wanted in text
    assert f"Unfairness ρ = {number(rho, 2)}, n = 48" in text, "a picture shows what it shows"
    assert " MIG (sign reversed)" not in text and "JEMMIG (sign reversed)" in text


def test_a_score_that_no_model_of_a_data_set_has_is_not_shown_there(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites", "mine"), seeds=3, metrics=("mig",))
    store = make_store(grid)
    for part in store.parts("scores"):
        if "mine" in part:
            store.remove_part("scores", part)
    html = written(store, grid, "ranking", "pictures", "udr")
    labelled, mine = alone(html, "ranking").split("mine redrawn")
    assert "MIG" in labelled and "MIG" not in mine
    pictures = alone(html, "pictures")
    labelled, mine = pictures.split("mine redrawn · β-VAE")
    assert "MIG" in labelled and "MIG" not in mine
    rows = section(html, "udr").split("Rank correlations per method")[1]
    assert "dSprites redrawn" in rows and "mine" not in rows


def test_a_single_point_is_in_the_table_but_not_drawn(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites",), seeds=7, metrics=("mig",), pictures=False)
    _, html = made(make_store, grid, "quality")
    assert "MIG UDR, same strength 0." in section(html, "quality")
    (drawn,) = re.findall(r'aria-label="(Rank correlation of UDR and [^"]*)"', html)
    assert "all strengths" in drawn and "same strength" not in drawn
