"""What a study lacks at the moment at which its report is made."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from infra.drivers.liveness import DriverWatch, Life
from infra.drivers.lock import BEAT_SECONDS
from infra.store import Store
from metrics import HEADLINE
from tasks.report.frames import CELL, Frames
from tasks.report.header import planned
from tasks.report.results import Results
from tasks.study.dynamics import is_compared
from tasks.study.spec import Study
from tasks.words import plural


@dataclass(frozen=True)
class Progress:
    """How many models have ended, and what is left."""

    ended: int
    planned: int
    unscored: int  # trained models without all metrics
    unranked: int  # trained models that should be in a ranking, and are not
    uncompared: int  # cells whose training dynamics are not compared
    has_driver: bool  # whether somebody works on it

    @property
    def done(self) -> bool:
        left = self.unscored or self.unranked or self.uncompared
        return self.ended == self.planned and not left

    @property
    def text(self) -> str:
        """`In progress: 40 of 120 models, 3 of these to score`; empty when nothing is left."""
        if self.done:
            return ""
        counts = f"{self.ended:,} of {plural(self.planned, 'model')}"
        left = [(self.unscored, "score"), (self.unranked, "rank")]
        counts += "".join(f", {count:,} to {what}" for count, what in left if count)
        if self.uncompared:
            counts += f"; {plural(self.uncompared, 'cell')} to compare by dynamics"
        return f"In progress: {counts}" if self.has_driver else f"Not finished: {counts}"


def progress(results: Results) -> Progress:
    study, frames = results.study, results.frames
    return Progress(
        ended=len(frames.models),
        planned=planned(study, frames.models),
        unscored=_unscored(study, frames),
        unranked=_unranked(study, frames),
        uncompared=_uncompared(study, frames, results.store),
        has_driver=has_driver(results.store),
    )


def has_driver(store: Store) -> bool:
    """Whether a run works on the store; one of another machine counts until it is seen dead."""
    drivers = DriverWatch(store, "", BEAT_SECONDS).drivers()
    return bool(drivers[Life.ALIVE] or drivers[Life.UNKNOWN])


def _unscored(study: Study, frames: Frames) -> int:
    """A score that could not be computed has a row, too."""
    rows = frames.parts.filter(pc.equal(frames.parts["part"], HEADLINE))
    pairs = rows.select(["model_id", "metric"]).to_pandas().drop_duplicates()
    wanted = set(study.metrics.names)
    counts = pairs[pairs["metric"].isin(wanted)]["model_id"].value_counts()
    return len(frames.trained) - int((counts == len(wanted)).sum()) if wanted else 0


def _unranked(study: Study, frames: Frames) -> int:
    udr, models = study.udr, frames.trained
    if not (udr.pools and udr.similarities):
        return 0
    if udr.seeds_per_cell and "cell" not in udr.pools:  # the other seeds are never ranked
        models = models.sort_values("seed").groupby(CELL).head(udr.seeds_per_cell)
    return int((~models["model_id"].isin(frames.ranks["model_id"])).sum())


def _uncompared(study: Study, frames: Frames, store: Store) -> int:
    if study.traces is None:
        return 0
    trained = set(frames.trained["model_id"])
    return sum(
        not is_compared(
            store, study.dynamics, cell.name, [m for m in cell.models if m.id in trained]
        )
        for cell in study.cells()
    )
