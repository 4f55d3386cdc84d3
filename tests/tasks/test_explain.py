"""docs/metrics.md and --explain: that they are fresh, whole and true."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from metrics import METRICS, OF_ALL_DATA
from metrics.base.dci_scores import completeness, disentanglement
from metrics.evaluate import evaluate, metric
from tasks.explain import READING, explain, page, range_text, section
from tests.metrics.test_common import GRID, PROPERTIES, entangled, inputs

ROOT = Path(__file__).parents[2]
PLACEHOLDERS = {"N": r"\d+", "STEP": "(mean|max)"}


def test_the_page_in_docs_is_fresh() -> None:
    stale = "docs/metrics.md is stale: make docs"
    assert (ROOT / "docs/metrics.md").read_text(encoding="utf-8") == page() + "\n", stale


@pytest.mark.parametrize("name", OF_ALL_DATA)
def test_every_part_says_what_it_is(name: str) -> None:
    """Of each factor or latent if it has many values, and nothing else has an entry."""
    codes = np.tile(entangled(np.random.default_rng(0)), (5, 1))  # 12,000 rows: all sizes
    few = slice(None) if name.startswith("downstream") else slice(1200)
    factors = np.tile(GRID, (5, 1))
    scores = evaluate(name, inputs(codes[few], factors[few]), np.random.default_rng(0))
    patterns = {
        part: re.sub("[A-Z]+", lambda word: PLACEHOLDERS[word[0]], part)
        for part in metric(name).PARTS
    }
    used = set()
    for score in scores:
        if score.part == "score":
            continue
        (part,) = (part for part, p in patterns.items() if re.fullmatch(p, score.part))
        used.add(part)
        about = metric(name).PARTS[part]
        assert (score.factor is None) or "each factor" in about, score
        assert " latent " not in score.part or "each latent" in about, score
    assert used == set(patterns)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_explained_whole(name: str) -> None:
    explained, text = explain(name), section(explain(name))
    facts = (explained.title, range_text(explained), explained.family, explained.property)
    assert all(fact and fact in text for fact in facts)
    for words in ("better", "Paper:", "Conventions:"):
        assert words in text, words
    assert text.count("Family:") == text.count("Property:") == 1
    assert ("https://" in text) == bool(METRICS[name].paper)
    assert text.count("\nParts:") == bool(explained.parts)
    assert max(map(len, text.partition("Links:")[0].splitlines())) <= 100


def test_shared_conventions_stand_with_the_metrics_that_follow_them() -> None:
    for name in ("factor_vae", "rf_vae"):
        assert "Ties go to the lower index" in explain(name).text
    assert "A latent without any importance has disentanglement 0" in explain("dci").text
    assert "statistical efficiency" in explain("downstream_trees").text
    assert "base/votes.py" not in explain("factor_vae").text


def test_the_formula_of_dci_is_the_one_in_words() -> None:
    """1 minus the entropy of shares, to the base of their number; a mean weighted by the sums."""
    importance = np.array([[3.0, 1.0], [0.0, 2.0], [1.0, 1.0]])  # latents, factors
    share = importance / importance.sum(axis=1, keepdims=True)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    latents = 1 + (share * logs).sum(axis=1)
    overall, each = disentanglement(importance)
    assert each == pytest.approx(latents)
    assert overall == pytest.approx((latents * [4, 2, 2]).sum() / 8)
    column = importance / importance.sum(axis=0)
    logs = np.log(column, out=np.zeros_like(column), where=column > 0) / np.log(3)
    assert completeness(importance)[2] == pytest.approx(1 + (column * logs).sum(axis=0))


def test_what_is_said_of_disagreeing_metrics_is_true_of_their_tests() -> None:
    def named(start: str) -> set[str]:
        (item,) = (text for text in READING.split("\n- ") if text.startswith(start))
        return {name for name in re.findall(r"`(\w+)`", item) if name in METRICS}

    better = {name: p for name, p in PROPERTIES.items() if METRICS[name].better == "more"}
    assert named("Where each factor is a latent") == {
        name for name, p in better.items() if p.perfect[1] < 0.99
    }
    fallen = {name for name, p in better.items() if p.duplicated[1] < p.perfect[0] - 0.1}
    assert fallen == {"mig", "sap"}
    assert PROPERTIES["jemmig"].duplicated[0] > PROPERTIES["jemmig"].perfect[1]
    assert named("Where latents are noise") == {
        name for name, p in better.items() if p.random[1] > 0.2
    }


def test_a_metric_that_says_nothing_of_itself_is_explained_by_its_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tasks.explain.metric", ModuleType)
    text = section(explain("mig"))
    assert "Title: MIG" in text and "0 to 1; more is better" in text
    assert "does not explain itself" in text and "Family" not in text
