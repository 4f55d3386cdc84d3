"""Whether a kind of models is comparable with the same kind of Eastwood and Williams 2018.

The paper trains one model of each kind, so that its numbers have no intervals. Where ours have, the
paper's is that of a single model: its number, and 1.96 times our deviation between seeds around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from models.recipe import Recipe
from tasks.report.comparable import COMPARABLE_SOURCES, different_settings, with_grid
from tasks.report.intervals import NORMAL, Interval
from tasks.report.kinds import REGRESSORS, Estimate, Kind, OfData, RegressorScores
from tasks.report.published import (
    EASTWOOD,
    KINDS_BETAS,
    KINDS_DATA,
    KINDS_LATENTS,
    KINDS_PICTURES,
    KINDS_STEPS,
    KINDS_TRAINING,
)
from tasks.report.questions import GridKind, Published
from tasks.study.spec import Study
from tasks.words import data_name, plural

ARCHITECTURE = "resnet"
NEAR = 0.01  # by which numbers of steps may differ: epochs end within a batch


@dataclass(frozen=True)
class PapersKind:
    """A kind as the paper names it."""

    name: str

    @property
    def is_fitted(self) -> bool:
        """At once, without a network and steps."""
        return self.name not in KINDS_STEPS

    def reasons(self, study: Study, models: pd.DataFrame) -> Iterator[tuple[GridKind, str]]:
        """Why numbers over these models of ours are not comparable with the paper's."""
        texts: dict[GridKind, list[str]] = {}
        for grid, text in self.differences(study, models):
            texts.setdefault(grid, []).append(text)
        for grid, of_grid in texts.items():
            yield grid, "; ".join(of_grid)

    def differences(self, study: Study, models: pd.DataFrame) -> Iterator[tuple[GridKind, str]]:
        """The same one by one."""
        if not models["source"].isin(COMPARABLE_SOURCES).all():
            yield "look-alike data", f"the pictures of {data_name(KINDS_DATA)} are look-alikes"
        for latents in sorted({*models["latents"]} - {KINDS_LATENTS}):
            yield "other architecture", f"{plural(latents, 'latent')}, the paper {KINDS_LATENTS}"
        pictures = getattr(study.choice(KINDS_DATA), "pictures", None)
        if pictures and pictures < KINDS_PICTURES:
            text = f"the first {pictures:,} pictures, the paper all {KINDS_PICTURES:,}"
            yield "other settings", text
        if (rows := study.metrics.points) < KINDS_TRAINING:
            text = (
                f"regressors learn from {rows:,} rows at most, the paper's from {KINDS_TRAINING:,}"
            )
            yield "other settings", text
        if not self.is_fitted:
            yield from self._of_training(study, models)

    def _of_training(self, study: Study, models: pd.DataFrame) -> Iterator[tuple[GridKind, str]]:
        for name in sorted({*models["architecture"]} - {ARCHITECTURE}):
            yield "other architecture", f"architecture “{name}”, the paper “{ARCHITECTURE}”"
        steps, papers = study.training.steps, KINDS_STEPS[self.name]
        if abs(steps - papers) > NEAR * papers:
            text = f"{plural(steps, 'step')} of {self.name}, the paper's code {papers:,}"
            yield "fewer steps" if steps < papers else "other settings", text
        beta1, beta2 = KINDS_BETAS
        recipe = Recipe(beta1=beta1, beta2=beta2)
        for name, (ours, theirs) in different_settings(study.training.recipe, recipe).items():
            yield "other settings", f"{name} {ours}, the paper's code {theirs}"


@dataclass(frozen=True)
class Number:
    """A number of the paper: of which kind and table, and which of our scores it is."""

    name: str  # of the kind
    table: int
    regressor: str
    part: str
    what: str
    value: float
    factor: str = ""  # empty: of all factors


def beside(
    numbers: Iterable[Number], sets: Sequence[OfData], scores: RegressorScores, study: Study
) -> Iterator[Published]:
    """Each with ours of all kinds that are the paper's; where there is none, once. Nothing in a
    study that has not the paper's pictures."""
    if all(choice.name != KINDS_DATA for choice in study.data):
        return
    kinds = [kind for of_data in sets if of_data.data == KINDS_DATA for kind in of_data.kinds]
    for one in numbers:
        what = f"{one.what}{f' of {one.factor}' if one.factor else ''}, {REGRESSORS[one.regressor]}"
        row = Published(
            what=f"{one.name}: {what}",
            ours=None,
            published=one.value,
            place=f"{EASTWOOD}, Table {one.table}",
            why_not=f"no models of {one.name} on {data_name(KINDS_DATA)}",
            published_n=1,
            grid="not computed",
        )
        ours = [kind for kind in kinds if kind.in_paper == one.name]
        for kind in ours:
            mean = scores.mean(kind, one.regressor, one.part, one.factor)
            yield with_grid(
                _with_ours(row, kind, mean, what), study, kind.models, PapersKind(one.name)
            )
        if not ours:
            yield row


def _with_ours(row: Published, kind: Kind, ours: Estimate, what: str) -> Published:
    around = NORMAL * (ours.deviation or 0.0)
    papers = row.published or 0.0
    return replace(
        row,
        what=f"{kind.title}: {what}",
        ours=ours.mean,
        n=ours.n or None,
        why_not="" if ours.n else "not scored",
        interval=ours.interval,
        published_interval=Interval(papers - around, papers + around) if ours.deviation else None,
    )


def why_not(of_data: OfData, study: Study) -> str:
    """All differences from the paper's models; empty where there is none."""
    texts = [
        text
        for kind in of_data.kinds
        if kind.in_paper
        for _, text in PapersKind(kind.in_paper).differences(study, kind.models)
    ]
    return "; ".join(dict.fromkeys(texts))
