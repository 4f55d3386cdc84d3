"""The order of models, and which ranking decides it."""

import math

import pytest

from tasks.best import best_and_worst, best_first, main_ranking


def models(*scores):
    return [{"model_id": name, "udr": udr} for name, udr in scores]


def ids(rows):
    return [row["model_id"] for row in rows]


def test_the_best_comes_first_and_models_without_a_score_last():
    rows = models(("d", None), ("c", 0.2), ("b", 0.9), ("a", 0.2), ("e", math.nan), ("f", 0.0))
    assert ids(best_first(rows)) == ["b", "a", "c", "f", "d", "e"]


def test_rows_without_ids_stay_in_their_order():
    rows = [{"place": place, "udr": udr} for place, udr in enumerate((0.1, 0.5, 0.5, 0.1))]
    assert [row["place"] for row in best_first(rows)] == [1, 2, 0, 3]


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        ([("a", 0.1), ("b", None), ("c", 0.7), ("d", 0.3)], ["c", "a"]),
        ([("a", None), ("b", 0.2)], ["b"]),
        ([("a", None)], []),
    ],
)
def test_best_and_worst_are_of_those_with_a_score(scores, wanted):
    assert ids(best_and_worst(models(*scores))) == wanted


def ranks(*rows):
    names = ("similarity", "pool", "p", "model_id", "udr")
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_the_main_ranking_is_of_the_papers_similarity_and_the_fairest_pool():
    rows = ranks(
        ("spearman", "method", 0, "a", 0.1),
        ("lasso", "cell", 0, "a", 0.2),
        ("lasso", "method", 0, "a", 0.3),
        ("lasso", "method", 5, "a", 0.4),
        ("lasso", "method", 5, "b", 0.5),
        ("lasso", "data", 0, "b", 0.6),
    )
    chosen = main_ranking(rows)
    assert {row["model_id"]: row["udr"] for row in chosen} == {"a": 0.3, "b": 0.5}


def test_any_udr_comes_before_centrality():
    rows = ranks(("centrality", "method", 0, "a", 0.9), ("spearman", "cell", 0, "a", 0.2))
    assert [row["similarity"] for row in main_ranking(rows)] == ["spearman"]
    assert [row["similarity"] for row in main_ranking(rows[:1])] == ["centrality"]


def test_a_ranking_that_ranks_nothing_decides_nothing():
    rows = ranks(("lasso", "method", 0, "a", None), ("lasso", "cell", 0, "a", 0.2))
    assert [row["pool"] for row in main_ranking(rows)] == ["cell"]
    assert main_ranking([]) == []
