"""The store's tables as pandas frames, cut down to what the page shows.

Rows of an older protocol are left out: their numbers are not comparable with the newer ones.
Filtering happens in Arrow, before pandas, so that 12,600 models fit in little memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from infra.store import Store
from infra.tables import AXES
from metrics import HEADLINE
from tasks.study.axes import sweep_of
from tasks.study.scores import outdated_metrics, read_scores
from tasks.study.spec import Study

MODEL_COLUMNS = [
    "model_id",
    "data",
    "source",
    "method",
    "strength",
    *AXES,
    "seed",
    "protocol",
    "status",
    "reason",
    "steps",
    "seconds",
    "device",
    "reconstruction",
    "kl",
    "elbo",
    "versions",
    "instructions",
    "memory_mb",
    "tries",
]
RANK_COLUMNS = [
    "model_id",
    "similarity",
    "pool",
    "p",
    "udr",
    "informative",
    "comparisons",
    "collapsed",
]
DYNAMICS_COLUMNS = [
    "model_id",
    "dynamics",
    "low",
    "high",
    "models",
    "partners",
    "mmd2",
    "steps",
    "samples",
    "settings",
]
CURVE_COLUMNS = ["model_id", "step", "loss", "reconstruction", "kl"]
PART_COLUMNS = ["model_id", "data", "source", "metric", "part", "value", "reason", "seconds"]
SECONDS = ["model_id", "metric", "seconds"]
UNSCORED = ["data", "source", "metric", "reason"]
CURVE_POINTS = 60  # more than a small figure can show
STRINGS = pd.StringDtype("python", na_value=np.nan)
DATA_SET = ["data", "source"]  # redrawn and official pictures are never mixed
CELL = [*DATA_SET, "method", "strength"]


@dataclass(frozen=True)
class Frames:
    """What is in the store; every frame's models are those of the newest protocol."""

    models: pd.DataFrame  # one row per model, in the order of the grid
    scores: pd.DataFrame  # model_id, metric, value: headlines of trained models
    unscored: pd.DataFrame  # data, source, metric, reason: headlines without a value
    ranks: pd.DataFrame  # one row per trained model, similarity and pool
    curves: pd.DataFrame  # model_id, step, loss, reconstruction, kl
    older: int  # models of older protocols, left out
    outdated: list[str]  # metrics of which scores of an older protocol were left out
    parts: pa.Table  # PART_COLUMNS of trained models: all that is not of one factor
    # DYNAMICS_COLUMNS: a row per trained model whose cell was compared by its training dynamics
    dynamics: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=DYNAMICS_COLUMNS))

    @property
    def trained(self) -> pd.DataFrame:
        return self.models[self.models["status"] == "trained"]


def read_frames(store: Store, study: Study) -> Frames:
    every_model = _pandas(store.read("models", MODEL_COLUMNS))
    newest = every_model["protocol"].max() if len(every_model) else None
    models = _with_sweeps(in_order(every_model[every_model["protocol"] == newest], study), study)
    trained = pa.array(models.loc[models["status"] == "trained", "model_id"], pa.string())
    every_part = _parts(store, trained)
    headlines = _pandas(every_part.filter(pc.equal(every_part["part"], HEADLINE)))
    return Frames(
        models=models,
        scores=_values(headlines[["model_id", "metric", "value"]]),
        unscored=headlines.loc[headlines["reason"].fillna("") != "", UNSCORED],
        ranks=_ranks(store, trained),
        curves=_curves(store, trained),
        older=len(every_model) - len(models),
        outdated=outdated_metrics(store),
        parts=every_part,
        dynamics=_dynamics(store, trained),
    )


def in_order(models: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Sort by data set and method as the study names them, then by axes, strength and seed."""
    keys = models.assign(
        _data=_place(models["data"], [choice.name for choice in study.data]),
        _method=_place(models["method"], list(study.methods)),
    )
    keys = keys.sort_values(["_data", *DATA_SET, "_method", "method", *AXES, "strength", "seed"])
    return keys.drop(columns=["_data", "_method"]).reset_index(drop=True)


def _with_sweeps(models: pd.DataFrame, study: Study) -> pd.DataFrame:
    """In the column `method` the method with the values of the axes that the study sweeps, so that
    all that is grouped by method has models that differ in strength and seed only."""
    for axis in AXES:
        if axis not in study.axes:  # rows of older versions do not have it
            models = models.assign(**{axis: study.values_of(axis)[0]})
    if not study.axes:
        return models
    rows = models[["method", *study.axes]].to_dict("records")
    return models.assign(
        method=pd.Series([sweep_of(row, study.axes) for row in rows], dtype=STRINGS)
    )


def parts(
    frames: Frames, models: pd.DataFrame, wanted: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], pd.Series[float]]:
    """A value per model of each (metric, part) without a factor; NaN where there is none."""
    every = frames.parts.select(["model_id", "metric", "part", "value"])
    values_of = {}
    for part in dict.fromkeys(part for _, part in wanted):
        rows = _values(_pandas(every.filter(pc.equal(every["part"], part))))
        for metric in (metric for metric, of_part in wanted if of_part == part):
            values = rows[rows["metric"] == metric].set_index("model_id")["value"]
            values_of[metric, part] = models["model_id"].map(values).astype(float)
    return values_of


def of_factors(
    store: Store, models: pd.DataFrame, wanted: Sequence[tuple[str, str]]
) -> pd.DataFrame:
    """metric, part, factor, model_id and value of each (metric, part) that has factors."""
    columns = ["metric", "part", "factor", "model_id", "value"]
    parts = pa.array(sorted({part for _, part in wanted}), pa.string())
    where = pc.field("part").isin(parts) & pc.field("factor").is_valid()
    rows = read_scores(store, columns, where=where & _in(models["model_id"]))
    frame = _pandas(rows).dropna(subset=["value"])
    known = pd.MultiIndex.from_frame(frame[["metric", "part"]]).isin(list(wanted))
    return frame[known].drop_duplicates(columns[:-1], keep="last").reset_index(drop=True)


def scoring_seconds(frames: Frames) -> pd.DataFrame:
    """model_id, metric and the seconds that it took."""
    headlines = frames.parts.filter(pc.equal(frames.parts["part"], HEADLINE))
    rows = _pandas(headlines.select(SECONDS))
    return rows.dropna(subset=["seconds"]).drop_duplicates(["model_id", "metric"], keep="last")


def groups(rows: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The groups in the order in which they come; a key is always a tuple."""
    yield from rows.groupby(list(by), sort=False)


def _place(names: pd.Series[str], order: Sequence[str]) -> pd.Series[int]:
    places = {name: place for place, name in enumerate(order)}
    return names.map(lambda name: places.get(name, len(places))).astype(int)


def _parts(store: Store, trained: pa.Array) -> pa.Table:
    """Read once for all questions: the table of a full grid has millions of rows."""
    where = pc.field("factor").is_null() & _in(trained)
    return read_scores(store, [*PART_COLUMNS, "factor"], where=where).select(PART_COLUMNS)


def _values(rows: pd.DataFrame) -> pd.DataFrame:
    """One value per model and metric: the last that is a number."""
    return rows.dropna(subset=["value"]).drop_duplicates(["model_id", "metric"], keep="last")


def _ranks(store: Store, trained: pa.Array) -> pd.DataFrame:
    """One ranking per similarity and pool: that of all comparisons, or of the most asked for."""
    rows = _pandas(store.read("ranks", RANK_COLUMNS, where=_in(trained)))
    rows = rows.assign(asked=rows["p"].where(rows["p"] > 0, np.inf)).sort_values("asked")
    rows = rows.drop_duplicates(["model_id", "similarity", "pool"], keep="last")
    return rows.drop(columns=["asked"]).reset_index(drop=True)


def _curves(store: Store, trained: pa.Array) -> pd.DataFrame:
    where = _in(trained)
    steps = np.sort(pc.unique(store.read("curves", ["step"], where=where)["step"]).to_numpy())
    if len(steps) > CURVE_POINTS:
        places = np.linspace(0, len(steps) - 1, CURVE_POINTS).round().astype(int)
        where &= pc.field("step").isin(pa.array(steps[places]))
    return _pandas(store.read("curves", CURVE_COLUMNS, where=where))


def _dynamics(store: Store, trained: pa.Array) -> pd.DataFrame:
    """Without the embeddings, which are large: a question reads those that it draws."""
    rows = _pandas(store.read("dynamics", DYNAMICS_COLUMNS, where=_in(trained)))
    return rows.drop_duplicates("model_id", keep="last").reset_index(drop=True)


def _in(model_ids: pa.Array | pd.Series[str]) -> pc.Expression:
    return pc.field("model_id").isin(pa.array(model_ids, pa.string()))


def _pandas(rows: pa.Table) -> pd.DataFrame:
    """A frame whose missing and infinite numbers are all NaN.

    Strings are Python's: pandas 3.1 cannot join empty columns of Arrow's.
    """
    frame: pd.DataFrame = rows.to_pandas(types_mapper={pa.string(): STRINGS}.get)
    for name in frame.columns:
        if frame[name].dtype.kind == "f":
            frame[name] = frame[name].replace([np.inf, -np.inf], np.nan)
    return frame
