"""Whether a study's numbers are comparable with the papers' numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pandas as pd

from models import METHODS, STUDY_2019
from models.recipe import Recipe
from tasks.report.frames import CELL, DATA_SET, groups
from tasks.report.intervals import of_rank_correlation
from tasks.report.published import SEEDS
from tasks.report.questions import GRIDS, GridKind, Published
from tasks.report.results import Column
from tasks.report.spearman import Agreement
from tasks.study.spec import Metrics, Study
from tasks.words import data_name, metric_name, plural

PAPERS_STEPS = 300_000  # Locatello et al. 2019, Table 4a
PAPERS_LATENTS = 10  # as above
FEWEST_STEPS = 100_000  # with fewer, models are far from what the papers trained
SEEDS_ACROSS_STRENGTHS = 10  # Duan et al. 2020, appendix A.5
ENOUGH_OF_GRID = 0.9  # of the paper's models, since a few diverge; of its cells all
COMPARABLE_SOURCES = ("official", "redrawn")


def why_not_quoted(study: Study, models: pd.DataFrame) -> str:
    """Why the papers' numbers are not put next to ours outside of the tables with verdicts; empty
    if they are. This asks for less than a verdict does, for which `grid_of` gives the reasons."""
    if study.training.steps < FEWEST_STEPS:
        return f"{plural(study.training.steps, 'training step')} are too few to compare with them"
    if not models["source"].isin(COMPARABLE_SOURCES).all():
        return "some of the pictures are not the paper's"
    return ""


class PapersModels(Protocol):
    """The models that a paper's number is of."""

    def reasons(self, study: Study, models: pd.DataFrame) -> Iterator[tuple[GridKind, str]]:
        """Why numbers over these models of ours are not comparable with the paper's."""


@dataclass(frozen=True)
class Population:
    """The models that a paper's number is of: every strength of its methods, with so many seeds."""

    data: tuple[str, ...]
    methods: tuple[str, ...] = STUDY_2019
    seeds: int = SEEDS

    @property
    def cells(self) -> int:
        """Of a data set."""
        return sum(len(METHODS[method].strengths) for method in self.methods)

    @property
    def models(self) -> int:
        return len(self.data) * self.cells * self.seeds

    def reasons(self, study: Study, models: pd.DataFrame) -> Iterator[tuple[GridKind, str]]:
        return _reasons(study, models, self)


def members(models: pd.DataFrame, population: Population) -> pd.DataFrame:
    """Of a study's models those that a paper's number is compared over. Where a data set has all
    cells of the paper, no others; the user's own pictures are never among them."""
    of_methods = models[
        models["data"].isin(population.data)
        & models["method"].isin(population.methods)
        & (models["source"] != "user")
    ]
    in_cells = of_methods[_in_papers_cells(of_methods)]
    cells = in_cells.drop_duplicates(CELL).groupby(DATA_SET, sort=False).size()
    whole = cells[cells == population.cells].index
    is_whole = pd.MultiIndex.from_frame(of_methods[DATA_SET]).isin(whole)
    return of_methods[~is_whole | _in_papers_cells(of_methods)]


def _in_papers_cells(models: pd.DataFrame) -> pd.Series[bool]:
    cells = {(name, strength) for name, method in METHODS.items() for strength in method.strengths}
    places = pd.MultiIndex.from_frame(models[["method", "strength"]])
    return pd.Series(places.isin(cells), index=models.index)


def with_grid(
    row: Published,
    study: Study,
    models: pd.DataFrame,
    population: PapersModels,
    differs: str = "",
) -> Published:
    """The row with whether ours, which is of these models, is comparable with the paper's, which
    may also differ in another way. Where there is none of ours, the row's `why_not` stays."""
    if row.ours is None:
        return replace(row, grid="not computed", why_not=row.why_not or "not scored")
    grid, why_not = grid_of(study, models, population)
    if differs:
        grid = min(grid, "other settings", key=GRIDS.index)
        why_not = "; ".join(filter(None, (why_not, differs)))
    return replace(row, grid=grid, why_not=why_not)


def grid_of(study: Study, models: pd.DataFrame, population: PapersModels) -> tuple[GridKind, str]:
    """How these models compare with a paper's, by the gravest difference; and all differences."""
    reasons = dict(population.reasons(study, models))
    gravest: GridKind = next((grid for grid in GRIDS if grid in reasons), "full")
    return gravest, "; ".join(reasons.values())


def _reasons(
    study: Study, models: pd.DataFrame, population: Population
) -> Iterator[tuple[GridKind, str]]:
    look_alikes = models.loc[~models["source"].isin(COMPARABLE_SOURCES), "data"]
    if len(look_alikes):
        names = ", ".join(data_name(name) for name in look_alikes.unique())
        yield "look-alike data", f"the pictures of {names} are look-alikes"
    architectures, latents = study.values_of("architecture"), study.values_of("latents")
    if architectures != ("paper",) or latents != (PAPERS_LATENTS,):
        kinds, counts = (" or ".join(map(str, values)) for values in (architectures, latents))
        text = f"architecture “{kinds}” with {counts} latents"
        yield "other architecture", f"{text}, the papers “paper” with {PAPERS_LATENTS}"
    steps = study.training.steps
    if steps < PAPERS_STEPS:
        yield "fewer steps", f"{plural(steps, 'step')}, the papers {PAPERS_STEPS:,}"
    if others := other_settings(study):
        yield "other settings", others
    in_grid = models[_in_papers_cells(models)].drop_duplicates([*CELL, "seed"])
    sizes = in_grid.groupby(CELL).size().clip(upper=population.seeds)
    cells, count = len(population.data) * population.cells, int(sizes.sum())
    if len(sizes) < cells or count < ENOUGH_OF_GRID * population.models:
        yield "partial grid", f"{count:,} of {plural(population.models, 'model')} of the paper"


def other_settings(study: Study) -> str:
    """Those that change the numbers and are not the papers'."""
    recipe, papers = study.training.recipe, Recipe()
    found = different_settings(recipe, papers)
    if study.training.steps > PAPERS_STEPS:
        found["steps"] = (study.training.steps, PAPERS_STEPS)
    for name in ("points", "test_points", "group_size"):
        value, of_papers = getattr(study.metrics, name), getattr(Metrics(), name)
        if value != of_papers:
            found[f"metrics.{name}"] = (value, of_papers)
    return "; ".join(
        f"{name} {ours}, the papers {theirs}" for name, (ours, theirs) in found.items()
    )


def different_settings(ours: Recipe, papers: Recipe) -> dict[str, tuple[Any, Any]]:
    """By name, but for the steps: ours and the paper's."""
    return {
        name: (value, getattr(papers, name))
        for name, value in ours
        if name != "steps" and value != getattr(papers, name)
    }


def by_source(models: pd.DataFrame, data: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The models on a data set by where its pictures are from, with its name; where there are
    none, no models once."""
    of_data = models[models["data"] == data]
    for (source,), rows in groups(of_data, ["source"]):
        look_alike = "" if source in COMPARABLE_SOURCES else f", {source}"
        yield data_name(data) + look_alike, rows
    if of_data.empty:
        yield data_name(data), of_data


def not_computed(data: str, *scores: str) -> str:
    """Why a number over models that have these scores is not computed, where there are none."""
    names = " and ".join(metric_name(score) for score in scores)
    return f"no models on {data_name(data)} with {names}"


def with_rho(row: Published, agreement: Agreement) -> Published:
    """The row with our rank correlation, or why there is none."""
    if agreement.rho is None:
        return replace(row, why_not=agreement.reason) if agreement.n else row
    interval = of_rank_correlation(agreement.rho, agreement.n)
    return replace(row, ours=agreement.rho, n=agreement.n, interval=interval, why_not="")


def population_of(pool: str, data: tuple[str, ...], methods: tuple[str, ...]) -> Population:
    """The models that Duan et al. 2020 rank: where all strengths are compared, 60 of a method."""
    return Population(data, methods, SEEDS if pool == "cell" else SEEDS_ACROSS_STRENGTHS)


def papers_version(ranking: Column) -> tuple[str, str]:
    """The similarity and pool of Duan et al. 2020 that a ranking is. The paper's text has a
    cross-validated lasso, its code a fixed penalty: both are its lasso."""
    return ranking.name.removesuffix("_cv"), ranking.pool
