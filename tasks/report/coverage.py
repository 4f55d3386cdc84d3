"""Which models a figure covers, and which are missing and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from urllib.parse import quote

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tasks.report.figures.points import MODEL
from tasks.report.frames import DATA_SET
from tasks.report.questions import Figure, FigureGroup
from tasks.report.results import Results
from tasks.words import data_name, plural

GRID = ["data", "method", "strength", "seed"]


@dataclass(frozen=True)
class Coverage:
    """Of the models that a figure could show: how many it shows, and how many of each kind are
    missing."""

    data_sets: tuple[tuple[str, str], ...]  # name, source
    drawn: int
    collapsed: int  # of those drawn
    diverged: int
    failed: int
    without: int  # trained, but without the numbers that the figure shows
    waiting: int  # not run yet

    @property
    def missing(self) -> int:
        return self.diverged + self.failed + self.without + self.waiting

    def text(self, hollow: bool) -> Markup:
        """`44 of 48 models of dSprites (redrawn); 4 missing: 3 diverged, 1 not run yet; 2
        collapsed, hollow`. What diverged or failed leads to the table of all models."""
        of = Markup(", ").join(
            Markup("{} ({})").format(data_name(name), source) for name, source in self.data_sets
        )
        every = plural(self.drawn + self.missing, "model")
        drawn = Markup("{:,} of {}").format(self.drawn, every) if self.missing else every
        parts = [Markup("{} of {}").format(drawn, of)]
        if self.missing:
            reasons = [
                self._ended("diverged", self.diverged),
                self._ended("failed", self.failed),
                f"{self.without:,} without a value" if self.without else "",
                f"{self.waiting:,} not run yet" if self.waiting else "",
            ]
            why = Markup(", ").join(reason for reason in reasons if reason)
            parts.append(Markup("{:,} missing: {}").format(self.missing, why))
        else:
            parts.append(Markup("none missing"))
        if self.collapsed:
            how = "drawn hollow" if hollow else "included"
            parts.append(Markup("{:,} collapsed, {}").format(self.collapsed, how))
        return Markup("; ").join(parts)

    def _ended(self, status: str, count: int) -> str:
        if not count or len(self.data_sets) > 1:
            return f"{count:,} {status}" if count else ""
        ((data, source),) = self.data_sets
        link = Markup('<a href="../models.html#data={}&source={}&status={}">{:,} {}</a>')
        return link.format(quote(data), quote(source), status, count, status)


@dataclass(frozen=True)
class Lines:
    """What figures cover, each line at the highest level where it holds; the others are empty."""

    all: str
    groups: list[str]
    figures: list[list[str]]  # by group


class Counts:
    """Counts the models behind figures of one study."""

    def __init__(self, results: Results) -> None:
        ended = results.frames.models
        keys = [*MODEL, "status"]
        waiting = _waiting(results).assign(model_id="", status="waiting")
        self.models = pd.concat([ended[keys], waiting[keys]], ignore_index=True)
        self.place = pd.Index(ended["model_id"])
        trained = results.models
        collapsed = trained.loc[trained["collapsed"].eq(True), "model_id"]
        self.collapsed = self.models["model_id"].isin(set(collapsed)).to_numpy()
        self.status = self.models["status"].to_numpy()
        self._groups = lru_cache(self._group_of)

    def of(self, figure: Figure) -> Coverage:
        places = self.place.get_indexer(pd.Index(drawn_models(figure)))
        places = places[places >= 0]
        group = self._groups(figure.among)
        could = np.isin(group, np.unique(group[places]))
        drawn = np.zeros(len(group), dtype=bool)
        drawn[places] = True
        missing = Counter(self.status[could & ~drawn].tolist())
        sets = self.models.loc[drawn, DATA_SET].drop_duplicates().itertuples(index=False)
        return Coverage(
            data_sets=tuple((str(row.data), str(row.source)) for row in sets),
            drawn=int(drawn.sum()),
            collapsed=int((drawn & self.collapsed).sum()),
            diverged=missing["diverged"],
            failed=missing["failed"],
            without=missing["trained"],
            waiting=missing["waiting"],
        )

    def lines(self, groups: Sequence[FigureGroup]) -> Lines:
        """A line for all figures, where they cover the same; otherwise for those of a group, and
        for every figure that differs from most of its group."""
        texts = [[self._text(figure) for figure in group.figures] for group in groups]
        if len({text for of_group in texts for text in of_group}) == 1:
            line = _of_each(texts[0][0], sum(map(len, texts)))
            return Lines(line, [""] * len(texts), [[""] * len(of_group) for of_group in texts])
        lines = Lines("", [], [])
        for of_group in texts:
            most, times = Counter(of_group).most_common(1)[0]
            if times == 1 < len(of_group):
                most = ""
            differs = any(text != most for text in of_group)
            lines.groups.append(_of_each(most, len(of_group), differs))
            lines.figures.append([text if text != most else "" for text in of_group])
        return lines

    def _text(self, figure: Figure) -> str:
        covered, points = self.of(figure), figure.drawing.points
        hollow = points is not None and points.are_models
        return covered.text(hollow) if covered.drawn else ""

    def _group_of(self, among: Sequence[str]) -> NDArray[np.int64]:
        """A number per model, the same for those with the same of these columns."""
        return np.asarray(self.models.groupby(list(among)).ngroup(), dtype=np.int64)


def _of_each(line: str, figures: int, differs: bool = False) -> str:
    if not line:
        return ""
    if differs:
        return Markup("Each figure that does not say otherwise: {}").format(line)
    return Markup("Each figure: {}").format(line) if figures > 1 else line


def drawn_models(figure: Figure) -> pd.Series[str]:
    """The ids of the models behind a figure; none where neither it nor its data name any."""
    if figure.models is not None:
        return figure.models
    if "model_id" not in figure.data:
        return pd.Series(dtype=str)
    numbers = figure.data.columns.difference(MODEL)
    return figure.data.loc[figure.data[numbers].notna().all(axis=1), "model_id"]


def _waiting(results: Results) -> pd.DataFrame:
    """The models of the study that have not ended, with the source that its data set has."""
    study, ended = results.study, results.frames.models
    swept = [(name, float(one)) for name, strengths in study.sweeps.items() for one in strengths]
    names = [choice.name for choice in study.data]
    rows = [(name, *cell, seed) for name, cell, seed in product(names, swept, study.seed_list)]
    grid = pd.DataFrame(rows, columns=GRID)
    has_ended = pd.MultiIndex.from_frame(grid).isin(pd.MultiIndex.from_frame(ended[GRID]))
    sources = ended.drop_duplicates("data").set_index("data")["source"]
    waiting = grid[~has_ended]
    return waiting.assign(source=waiting["data"].map(sources)).dropna(subset=["source"])
