"""Which strength and which model the report advises, from planted numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from tasks.report.every_model import cell_page
from tasks.report.page import write_report
from tasks.report.questions.best import best_of_methods, median_of
from tasks.report.results import Column, read_results
from tasks.study.data_choice import DataChoice, ReadFacts
from tests.tasks.report.conftest import Grid, MakeStore, blank_column
from tests.tasks.report.parsed import checked, section

METHOD = Column("lasso", "UDR, all strengths", "method")
CELL = Column("lasso", "UDR, same strength", "cell")
UNLABELLED = Grid(
    data=("mine",),
    sources={"mine": "user"},
    seeds=7,
    metrics=("unsupervised",),
    pictures=False,
    curves=False,
)


def models(by_strength: dict[float, tuple[list[float], list[float]]]) -> pd.DataFrame:
    """Of each strength the UDRs within its cell and over all strengths, a model per number."""
    rows = [
        {"strength": strength, "seed": seed, CELL.id: cell, METHOD.id: method}
        for strength, (cells, over_all) in by_strength.items()
        for seed, (cell, method) in enumerate(zip(cells, over_all, strict=True))
    ]
    frame = pd.DataFrame(rows).assign(data="mine", source="user", method="beta_vae")
    return frame.assign(
        model_id=[f"m{place}" for place in range(len(frame))], informative=4.0, kl=9.0
    )


def test_strengths_are_chosen_within_cells_and_models_over_all() -> None:
    frame = models(
        {
            1.0: ([0.5, 0.6, 0.7], [0.1, 0.2, 0.3]),
            4.0: ([0.2, 0.3, 0.9], [0.4, 0.9, 0.5]),
            8.0: ([np.nan] * 3, [0.6, 0.6, np.nan]),
        }
    )
    (row,) = best_of_methods(frame, CELL, METHOD)
    assert [(one.strength, one.median) for one in row.strengths] == [(1.0, 0.6), (4.0, 0.3)]
    best = row.strengths[0]
    assert (best.models, best.low, best.high, best.exact) == (3, 0.5, 0.7, False)
    assert row.model is not None
    assert (row.model.model_id, row.model.strength, row.model.udr) == ("m4", 4.0, 0.9)


@pytest.mark.parametrize("n", [1, 5, 6, 8, 9, 20, 50])
def test_the_interval_is_the_narrowest_of_order_statistics_that_is_sure_enough(n: int) -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, n + 1))
    found = median_of(1.0, pd.Series(values))
    sure = [k for k in range(1, n // 2 + 1) if 1 - 2 * binom.cdf(k - 1, n, 0.5) >= 0.95]
    k = max(sure, default=1)
    assert (found.low, found.high, found.exact) == (k, n + 1 - k, bool(sure))
    assert found.median == (n + 1) / 2


def test_the_page_without_labels_answers_in_a_sentence_and_speaks_of_none(
    make_store: MakeStore,
) -> None:
    store = make_store(UNLABELLED)
    page = checked(write_report(store, UNLABELLED.study()))
    text = section(page.html, "best")
    wide = read_results(store, UNLABELLED.study()).models
    for method, symbol in (("beta_vae", "β"), ("factor_vae", "γ")):
        rows = wide[wide["method"] == method]
        medians = rows.groupby("strength")["udr lasso cell"].median().sort_values()
        ordered = rows.loc[rows["strength"] == medians.index[-1], "udr lasso cell"].sort_values()
        low, high = ordered.iloc[0], ordered.iloc[-1]  # 7 models: all but 1.6 per cent
        assert "lowest to highest" not in text
        assert (
            f"choose {symbol} = {medians.index[-1]:g} , with a median UDR of "
            f"{medians.iloc[-1]:.3f} ({low:.3f} to {high:.3f}); the next, "
        ) in text
        best = rows.sort_values("udr lasso method").iloc[-1]
        assert f"The best model is {best['model_id']} ({symbol} = {best['strength']:g}," in text
    assert "the 95% interval of the median" in text
    assert "add the pool data" in text
    assert "that need labels" not in page.text and "from labels" not in page.text
    assert "need no labels" in section(page.html, "udr")


def test_scores_without_labels_are_named_where_there_are_others(make_store: MakeStore) -> None:
    grid = replace(UNLABELLED, metrics=("mig", "unsupervised"))
    text = section(checked(write_report(make_store(grid), grid.study())).html, "udr")
    assert "the scores that need labels? Total correlation needs no labels." in text


def test_what_leaves_no_choice_says_so(make_store: MakeStore) -> None:
    def best(grid: Grid, udr: float | None = None) -> str:
        store = make_store(grid)
        if udr is not None:
            blank_column(store, "ranks", "udr", udr)
        return section(checked(write_report(store, grid.study())).html, "best")

    alone = replace(UNLABELLED, methods={"beta_vae": (4.0,)}, seeds=3)
    assert "β = 4 is the only strength with UDR." in best(alone)
    assert "add the pool data" not in best(alone), "one method"
    assert "several strengths have the highest median, 0.000" in best(UNLABELLED, udr=0.0)
    few = best(replace(UNLABELLED, seeds=5))
    assert "the lowest and the highest value, as fewer than six models give no 95%" in few
    assert ", lowest to highest); the next, " in few, "the finding says it where it stands"
    assert "No answer yet" in best(replace(UNLABELLED, pools=()))


def test_one_model_of_each_strength_is_no_ground_for_a_choice(make_store: MakeStore) -> None:
    grid = replace(UNLABELLED, seeds=1, pools=("method",))
    text = section(checked(write_report(make_store(grid), grid.study())).html, "best")
    assert "no choice of a strength: one model of each is no ground for a choice." in text
    assert ": choose " not in text and "In brackets" not in text
    assert "The best model is" in text
    frame = models({1.0: ([0.5, 0.6], [0.5, 0.6]), 4.0: ([0.9], [0.9])})
    (row,) = best_of_methods(frame, CELL, METHOD)
    assert [one.strength for one in row.comparable] == [1.0]


def test_a_choice_among_models_that_learned_nothing_says_why_to_doubt_it(
    make_store: MakeStore,
) -> None:
    def best(steps: int, pictures: int, udr: float, kl: float) -> str:
        grid = replace(UNLABELLED, steps=steps)
        store = make_store(grid)
        for part in store.parts("ranks"):
            rows = store.read("ranks", keys=[part])
            place, of = rows.column_names.index("udr"), rows["strength"]
            values = [udr + strength.as_py() / 1000 for strength in of]
            store.write_part("ranks", part, rows.set_column(place, "udr", [values]))
        blank_column(store, "models", "kl", kl)
        read = ReadFacts(pictures=pictures, channels=3)
        mine = DataChoice(name="mine", folder="/photos", read=read)
        study = grid.study().model_copy(update={"data": (mine,)})
        return section(checked(write_report(store, study)).html, "best")

    text = best(steps=100, pictures=66, udr=0.2, kl=0.12)
    low = ", low: below 0.3 in Duan et al. 2020"
    assert f"with a median UDR of 0.204 (0.204 to 0.204){low}; the next, " in text
    assert f"UDR 0.204{low}, " in text
    assert (
        "Doubtful: its KL of 0.12 nats is near 0: it has learned next to nothing; "
        "only 100 training steps (the papers: 300,000); "
        "66 pictures: results of fewer than 100 are mostly chance." in text
    )
    text = best(steps=10_000, pictures=100, udr=0.3, kl=1.0)
    assert "choose" in text and "low:" not in text and "Doubtful" not in text


def test_the_command_works_as_printed_and_ids_lead_to_their_models(make_store: MakeStore) -> None:
    store = make_store(UNLABELLED)
    folder = Path(write_report(store, UNLABELLED.study())).parent
    wide = read_results(store, UNLABELLED.study()).models.sort_values("udr lasso method")
    best = wide[wide["method"] == "beta_vae"].iloc[-1]
    text = section((folder / "questions" / "best.html").read_text(), "best")
    shown = f"tolstoy show {best['model_id']} --gif --store {store}"
    assert shown in text
    place = f"cells/{cell_page(best.to_dict())}.html#{best['model_id']}"
    for name, root in (("questions/best", "../"), ("questions/ranking", "../"), ("index", "")):
        assert f'href="{root}{place}"' in (folder / f"{name}.html").read_text(), name


def test_with_the_pool_of_a_data_set_methods_are_compared(make_store: MakeStore) -> None:
    grid = replace(UNLABELLED, pools=("cell", "method", "data"))
    store = make_store(grid)
    wide = read_results(store, grid.study()).models.sort_values("udr lasso data")
    text = section(checked(write_report(store, grid.study())).html, "best")
    best = wide.iloc[-1]
    assert f"the best model by “UDR, all methods” is {best['model_id']} " in text
    assert "add the pool data" not in text
