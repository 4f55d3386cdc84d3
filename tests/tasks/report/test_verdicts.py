"""What is said of a number of ours and a paper's, and of which grids anything is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import METHODS
from tasks.report import intervals
from tasks.report.comparable import Population, members, with_grid
from tasks.report.intervals import Interval
from tasks.report.ours_and_theirs import published_tables, with_all_published
from tasks.report.questions import GRIDS, Answer, FilterBar, Published, Sentence, missing
from tasks.report.verdicts import AGREES, DIFFERS, NO_INTERVAL, difference_interval, verdict
from tasks.study.spec import Study

ROW = Published("ρ", 0.5, 0.45, "Table 1", interval=Interval(0.4, 0.6))
POPULATION = Population(("dsprites",), ("beta_vae", "factor_vae"))


def study(**settings: Any) -> Study:
    return Study(name="s", data=("dsprites",), methods={"beta_vae": (1.0,)}, **settings)


def grid(
    strengths: int = 6, seeds: int = 50, source: str = "redrawn", left_out: int = 0
) -> pd.DataFrame:
    rows = [
        {"data": "dsprites", "source": source, "method": m, "strength": float(s), "seed": seed}
        for m in POPULATION.methods
        for s in METHODS[m].strengths[:strengths]
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)[left_out:]


CASES: dict[str, tuple[Study, pd.DataFrame, str]] = {
    "full": (study(), grid(), "full"),
    "a few diverged": (study(), grid(left_out=49), "full"),
    "a cell is missing": (study(), grid(left_out=50), "partial grid"),
    "many diverged": (study(), grid(seeds=44), "partial grid"),
    "fewer strengths": (study(), grid(strengths=5), "partial grid"),
    "a pair of seeds": (study(), grid(seeds=2), "partial grid"),
    "look-alike": (study(), grid(source="look-alike"), "look-alike data"),
    "official": (study(), grid(source="official"), "full"),
    "few steps": (study(training={"steps": 299_999}), grid(), "fewer steps"),
    "more steps": (study(training={"steps": 400_000}), grid(), "other settings"),
    "another rate": (study(training={"learning_rate": 1e-3}), grid(), "other settings"),
    "fewer points": (study(metrics={"points": 500}), grid(), "other settings"),
    "other network": (study(architecture="library"), grid(), "other architecture"),
    "more latents": (study(latents=20), grid(), "other architecture"),
    "all at once": (
        study(latents=20, training={"steps": 30}),
        grid(source="look-alike", seeds=1),
        "look-alike data",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_only_whole_grids_are_judged(case: str) -> None:
    spec, models, wanted = CASES[case]
    row = with_grid(ROW, spec, models, POPULATION)
    assert row.grid == wanted and bool(row.why_not) == (wanted != "full")
    if wanted == "full":
        assert verdict(row) == AGREES
    else:
        assert verdict(row) == f"not comparable: {row.why_not}"


def test_all_reasons_are_given() -> None:
    spec, models, _ = CASES["all at once"]
    why = with_grid(ROW, spec, models, POPULATION).why_not
    for part in ("look-alikes", "20 latents", "30 steps, the papers 300,000", "12 of 600 models"):
        assert part in why


def test_where_there_are_all_cells_of_the_paper_no_others_count() -> None:
    extra = grid().assign(strength=3.5)
    assert len(members(pd.concat([grid(), extra], ignore_index=True), POPULATION)) == 600
    partial = pd.concat([grid(strengths=2), extra], ignore_index=True)
    assert len(members(partial, POPULATION)) == len(partial)
    assert members(grid(source="user"), POPULATION).empty
    assert members(grid(), Population(("cars3d",))).empty


def test_each_verdict_is_reached() -> None:
    assert verdict(ROW) == AGREES
    assert verdict(replace(ROW, published=0.2)) == DIFFERS
    near = replace(ROW, published=0.6, published_interval=Interval(0.55, 0.65))
    assert verdict(near) == AGREES, "outside neither by more than both allow"
    narrow = replace(ROW, ours=0.52, published=0.5, interval=Interval(0.515, 0.525))
    sure = Interval(0.499, 0.501)
    assert verdict(replace(narrow, published_interval=sure)) == DIFFERS
    rounded = replace(narrow, digits=1, published_interval=sure)
    assert verdict(rounded) == AGREES, "0.5 may be 0.54"
    percents = replace(narrow, percent=True, digits=0, published_interval=sure)
    assert verdict(percents) == DIFFERS, "50% may be 50.4%"
    assert verdict(replace(ROW, interval=None)) == NO_INTERVAL
    unscored = replace(ROW, ours=None, why_not="no models")
    unscored = with_grid(unscored, study(), grid(), POPULATION)
    assert verdict(unscored) == "not computed: no models"
    whole_table = replace(ROW, published=None)
    assert difference_interval(whole_table) is None


def test_numbers_of_the_same_truth_mostly_agree() -> None:
    """Two studies of one truth, of as many models: 95% agree, and of another truth none."""
    draws, n = np.random.default_rng(0), 300

    def row(r: float) -> Iterator[float]:
        one, noise = draws.normal(size=(2, n))
        ranks = pd.DataFrame({"one": one, "other": r * one + np.sqrt(1 - r * r) * noise}).rank()
        yield float(ranks["one"].corr(ranks["other"]))

    def judged(ours: float, theirs: float) -> str:
        bounds = [intervals.of_rank_correlation(rho, n) for rho in (ours, theirs)]
        pair = replace(ROW, ours=ours, published=theirs, digits=6)
        return verdict(replace(pair, interval=bounds[0], published_interval=bounds[1]))

    same = [judged(*row(0.5), *row(0.5)) for _ in range(200)]
    assert 0.90 <= same.count(AGREES) / 200 <= 0.99
    other = [judged(*row(0.5), *row(0.1)) for _ in range(50)]
    assert other.count(DIFFERS) >= 49


@pytest.mark.parametrize("spread", [0.4, 1.5])
def test_the_interval_of_a_papers_r_squared_covers_what_such_studies_find(spread: float) -> None:
    draws = np.random.default_rng(3)
    means = draws.normal(0, spread, (36, 1))
    table = means + draws.normal(size=(200, 36, 50))
    within = ((table - table.mean(axis=2, keepdims=True)) ** 2).sum(axis=(1, 2))
    every = ((table - table.mean(axis=(1, 2), keepdims=True)) ** 2).sum(axis=(1, 2))
    shares = 1 - within / every
    bounds = [intervals.of_r_squared(float(share), 1800, 36) for share in shares]
    covered = [b is not None and b.low <= shares.mean() <= b.high for b in bounds]
    assert 0.90 <= np.mean(covered) <= 0.99
    assert intervals.of_r_squared(0.4, 6, 6) is None
    assert intervals.of_r_squared(1.0, 60, 6) is None


def test_the_page_of_the_papers_has_all_numbers_and_one_choice() -> None:
    row = replace(ROW, place="Duan et al. 2020, Table 7", grid="fewer steps", why_not="30 steps")
    full = replace(ROW, published=0.1, place="Locatello et al. 2019, Table 5")
    later = Answer((Sentence("Later."), *published_tables([full])), (full,))
    first, alone = Answer((Sentence("First."),)), Answer((Sentence("Other."),), (row,))
    sections = [[("quality", alone)], [("papers", first), ("variance", later)]]
    (answer,) = with_all_published(sections).values()
    _, counts, bar, table = answer.content
    assert isinstance(counts, Sentence) and isinstance(bar, FilterBar)
    assert counts.text.startswith("2 published numbers: 1 full grid, 1 fewer steps.")
    assert "0 numbers agree within their intervals and 1 differ" in counts.text
    assert len(set(bar.tables)) == 2 and table.id == bar.tables[0]
    (options,) = (choice.options for choice in bar.filters)
    assert [value for value, _ in options] == ["full", "fewer steps"]
    assert {value for value, _ in options} <= set(GRIDS)
    assert with_all_published([[("quality", alone)]]) == {}
    (empty,) = with_all_published([[("papers", missing("None."))]]).values()
    assert len(empty.content) == 1
