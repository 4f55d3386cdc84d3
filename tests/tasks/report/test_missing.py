"""Whatever is missing from the store, the page is written and names what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from infra.store import Store
from tasks.report.page import write_report
from tests.tasks.report.conftest import Grid, MakeStore, blank_column, without
from tests.tasks.report.parsed import checked

SMALL = Grid(data=("dsprites",), seeds=2)
EVERY = {
    ("dsprites", method, strength, seed): "out of memory"
    for method, strengths in SMALL.methods.items()
    for strength in strengths
    for seed in range(SMALL.seeds)
}


CASES: dict[str, tuple[Grid, Callable[[Store], object], tuple[str, ...]]] = {
    "no UDR": (
        SMALL,
        without("ranks"),
        ("No UDR yet.", "No UDR yet, so no best and no worst", "Example, not ranked"),
    ),
    "nobody to compare with": (
        SMALL,
        lambda store: blank_column(store, "ranks", "udr", None),
        ("No UDR yet: no model had another to be compared with", "Example, not ranked"),
    ),
    "UDR is not a number": (
        SMALL,
        lambda store: blank_column(store, "ranks", "udr", float("nan")),
        ("No UDR yet: no model had another to be compared with",),
    ),
    "no scores": (
        SMALL,
        without("scores"),
        ("No supervised scores yet.", "there is nothing to set UDR against", "Best by UDR"),
    ),
    "scores are not numbers": (
        SMALL,
        lambda store: blank_column(store, "scores", "value", float("nan")),
        ("No supervised scores yet.",),
    ),
    "pictures without factors": (
        SMALL,
        lambda store: (
            blank_column(store, "scores", "value", None),
            blank_column(store, "scores", "reason", "the pictures have no factors"),
        ),
        ("No MIG, FactorVAE score for 8 models on dSprites", "the pictures have no factors."),
    ),
    "scores are infinite": (
        SMALL,
        lambda store: blank_column(store, "scores", "value", float("inf")),
        ("No supervised scores yet.",),
    ),
    "neither scores nor UDR": (
        SMALL,
        without("scores", "ranks"),
        ("No scores and no UDR yet, so there are no distributions",),
    ),
    "one seed": (replace(SMALL, seeds=1), without(), ("There is a single seed",)),
    "everything failed": (
        replace(SMALL, diverged=EVERY),
        without(),
        ("No model has been trained to its end", "out of memory", "0 trained of 8", "8 diverged"),
    ),
    "no curves": (replace(SMALL, curves=False), without(), ("No training curves yet.",)),
    "no pictures": (
        replace(SMALL, pictures=False),
        without(),
        ("No traversal in the table of pictures.", "Best by UDR"),
    ),
    "damaged pictures": (
        SMALL,
        lambda store: blank_column(
            store, "pictures", "png", b"not a picture, whatever it may say of itself"
        ),
        ("No traversal in the table of pictures.",),
    ),
    "no KL": (SMALL, lambda store: blank_column(store, "models", "kl", None), ("Best by UDR",)),
    "no metrics asked for": (replace(SMALL, metrics=()), without(), ("No supervised scores yet.",)),
    "all scores equal": (
        replace(SMALL, seeds=6),
        lambda store: blank_column(store, "scores", "value", 0.5),
        ("no rank correlation: all values are equal (n = 24)",),
    ),
    "too few for a correlation": (
        replace(SMALL, methods={"beta_vae": (1.0, 4.0)}),
        without(),
        ("n = 4: too few for a rank correlation",),
    ),
    "no model yet": (
        SMALL,
        without("models", "scores", "ranks", "curves", "pictures"),
        ("0 trained of 8", "8 not run yet", "No model has been run yet.", "no model yet"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_page_names_what_is_missing(make_store: MakeStore, case: str) -> None:
    grid, damage, sentences = CASES[case]
    store = make_store(grid)
    damage(store)
    page = checked(write_report(store, grid.study()))
    for sentence in sentences:
        assert sentence in page.text


def test_the_page_of_a_complete_study_names_nothing_missing(make_store: MakeStore) -> None:
    grid = replace(SMALL, seeds=6)
    text = checked(write_report(make_store(grid), grid.study())).text
    for _, _, sentences in CASES.values():
        for sentence in sentences:
            assert sentence == "Best by UDR" or sentence not in text


def test_a_store_without_models_has_a_page(make_store: MakeStore) -> None:
    page = checked(write_report(make_store(Grid(data=())), Grid().study()))
    assert "0 trained of 16" in page.text
    assert "No model has been run yet." in page.text
    assert "No model has been trained to its end yet" in page.text


def test_one_ranked_model_is_neither_best_nor_worst(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), methods={"beta_vae": (1.0,)}, seeds=1)
    assert "The only ranked model" in checked(write_report(make_store(grid), grid.study())).text


def test_scores_without_labels_are_shown_where_there_are_no_others(make_store: MakeStore) -> None:
    grid = replace(SMALL, metrics=("mig", "unsupervised"))
    store = make_store(grid)
    medians: dict[tuple[str, float], list[float]] = {}
    for part in store.parts("scores"):
        rows = []
        for row in store.read("scores", keys=[part]).to_pylist():
            if row["metric"] == "mig":
                rows.append(row | {"value": None, "reason": "the pictures have no factors"})
                continue
            rows.append(row | {"value": 40 * row["value"]})
            if (row["part"], row["factor"]) == ("score", None):
                cell = (row["method"], row["strength"])
                medians.setdefault(cell, []).append(40 * row["value"])
                parts = {"kl latent 3": 0.5, "elbo": -7e6, "informative_latents": 2.0}
                rows += [row | {"part": name, "value": value} for name, value in parts.items()]
        store.write_part("scores", part, {name: [row[name] for row in rows] for name in rows[0]})
    page = checked(write_report(store, grid.study()))
    assert "No MIG for 8 models on dSprites" in page.text
    assert "Total correlation on dSprites; medians over all models" in page.html
    for row, values in zip(page.rows, medians.values(), strict=True):
        assert float(row["cells"][2]["value"]) == pytest.approx(sum(values) / 2)
        assert not row["cells"][2]["best"], "more is not better"
    assert "Locatello et al. 2019" in page.text and "kl latent" not in page.text


def test_a_collapsed_model_is_called_collapsed(make_store: MakeStore) -> None:
    store = make_store(SMALL)
    blank_column(store, "ranks", "collapsed", True)
    text = checked(write_report(store, SMALL.study())).text
    assert "Worst by UDR, collapsed: no informative latent" in text
    assert "2 collapsed" in text
    assert "its UDR is 0" in text
