"""What a study has, as the questions read it: a row per trained model and a column per score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from infra.store import Store
from metrics import HEADLINE, METRICS
from tasks.best import ranking_place
from tasks.report.figures.colours import Style, styles_of
from tasks.report.frames import Frames, parts, read_frames
from tasks.study.spec import Study
from tasks.words import UDR, metric_name, ranking_name, udr_name

DIRECTIONS = {"more": 1, "less": -1, "neither": 0}


@dataclass(frozen=True)
class Column:
    """One number that every model may have: a part of a metric, or UDR."""

    name: str  # of the metric, or of the similarity that a ranking compares by
    title: str
    pool: str = ""  # of a ranking; a metric has none
    direction: int = 1  # -1 where less is better, 0 where neither is
    part: str = HEADLINE  # of a metric

    @property
    def is_udr(self) -> bool:
        return bool(self.pool)

    @property
    def more_is_better(self) -> bool:
        return self.direction > 0

    @property
    def kind(self) -> str:
        """An unknown metric is taken for one of disentanglement."""
        return METRICS[self.name].kind if self.name in METRICS else "disentanglement"

    @property
    def id(self) -> str:
        """Its column in frames, and its random streams and figures. It is never taken apart."""
        if self.is_udr:
            return f"udr {self.name} {self.pool}"
        return f"metric {self.name}" + ("" if self.part == HEADLINE else f" {self.part}")


# The stability of a model's cell: a ranking of cells, so that its models share one number.
DYNAMICS = Column("dynamics", "Training dynamics", direction=-1)


@dataclass(frozen=True)
class Results:
    """All that questions may read. Pairs and pictures are read from the store when needed."""

    store: Store
    study: Study
    frames: Frames
    models: (
        pd.DataFrame
    )  # trained models: keys, a column per score, DYNAMICS, collapsed, informative
    columns: tuple[Column, ...]  # metrics as the study names them, then rankings

    @property
    def metrics(self) -> list[Column]:
        return [column for column in self.columns if not column.is_udr]

    @property
    def rankings(self) -> list[Column]:
        return [column for column in self.columns if column.is_udr]

    @property
    def udr_versions(self) -> list[Column]:
        """The rankings by UDR: others may be there, too."""
        return [column for column in self.rankings if ranking_name(column.name) == UDR]

    @cached_property
    def udr(self) -> Column | None:
        """The main ranking: the first that ranks anything."""
        return next((c for c in self.rankings if self.models[c.id].notna().any()), None)

    @cached_property
    def dynamics(self) -> Column | None:
        """The ranking of cells by training dynamics, where any cell has a score."""
        return DYNAMICS if self.models[DYNAMICS.id].notna().any() else None

    @cached_property
    def has_factors(self) -> bool:
        """Whether scores can be compared with the factors of the pictures: the user's own pictures
        may have none."""
        scored = any(metric.kind != "unsupervised" for metric in self.metrics)
        return scored or bool((self.frames.models["source"] != "user").any())

    @cached_property
    def styles(self) -> dict[str, Style]:
        """How each method is drawn, in the order of the study."""
        return styles_of([*self.study.sweeps, *self.frames.models["method"].unique()])

    def of_data(self, data: str, source: str) -> Results:
        """The same of one data set: its models, and scores of which any has a value."""

        def here(rows: pd.DataFrame) -> pd.DataFrame:
            return rows[(rows["data"] == data) & (rows["source"] == source)]

        models = here(self.models)
        columns = tuple(c for c in self.columns if models[c.id].notna().any())
        frames = replace(self.frames, models=here(self.frames.models))
        return replace(self, frames=frames, models=models, columns=columns)

    def with_parts(self, wanted: Sequence[Column]) -> pd.DataFrame:
        """The models with a further column for each of these parts of metrics."""
        values = parts(self.frames, self.models, [(column.name, column.part) for column in wanted])
        return self.models.assign(**{c.id: values[c.name, c.part] for c in wanted})


def read_results(store: Store, study: Study) -> Results:
    frames = read_frames(store, study)
    columns = columns_of(frames, study)
    return Results(store, study, frames, per_model(frames, columns), columns)


def columns_of(frames: Frames, study: Study) -> tuple[Column, ...]:
    """The metrics as the study names them, then UDR by similarity and pool."""
    present = list(frames.scores["metric"].unique())
    named = [name for name in study.metrics.names if name in present]
    metrics = [*named, *sorted(set(present) - set(named))]
    pairs = frames.ranks[["similarity", "pool"]].drop_duplicates().itertuples(index=False)
    rankings = sorted(
        ((str(row.similarity), str(row.pool)) for row in pairs),
        key=lambda ranking: ranking_place(*ranking),
    )
    single = len({similarity for similarity, _ in rankings if ranking_name(similarity) == UDR}) == 1
    return (
        *(Column(name, metric_name(name), direction=_direction(name)) for name in metrics),
        *(Column(name, udr_name(pool, name, single), pool) for name, pool in rankings),
    )


def _direction(metric: str) -> int:
    return DIRECTIONS[METRICS[metric].better] if metric in METRICS else 1


def per_model(frames: Frames, columns: Sequence[Column]) -> pd.DataFrame:
    """One row per trained model: keys, a column per score, collapsed, informative latents, of which
    nothing is known without a KL."""
    scores, ranks, ids = frames.scores, frames.ranks, frames.trained["model_id"]
    values = {}
    for column in columns:
        if column.is_udr:
            of_both = (ranks["similarity"] == column.name) & (ranks["pool"] == column.pool)
            rows = ranks[of_both].set_index("model_id")["udr"]
        else:
            rows = scores[scores["metric"] == column.name].set_index("model_id")["value"]
        values[column.id] = ids.map(rows).astype(float)
    stability = frames.dynamics.set_index("model_id")["dynamics"]
    values[DYNAMICS.id] = ids.map(stability).astype(float)
    dead = ranks.loc[ranks["collapsed"].eq(True), "model_id"]
    informative = ranks.drop_duplicates("model_id").set_index("model_id")["informative"]
    return frames.trained.assign(
        **values,
        collapsed=ids.isin(dead),
        informative=ids.map(informative).astype(float).where(frames.trained["kl"].notna()),
    )


def signed_so_more_is_better(models: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    return models.assign(**{c.id: -models[c.id] for c in columns if c.direction < 0})
