"""One self-contained HTML page of a study: read the tables, compute, draw, fill the template."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from infra.store import Store
from tasks import words as names
from tasks.citations import references
from tasks.report import colours, panels, published
from tasks.report.agreement import ENOUGH
from tasks.report.canvas import limits
from tasks.report.choices import chosen_strengths
from tasks.report.fewer import COMPARISONS, DRAWS, curves, fewer_rows
from tasks.report.figures import CROWD
from tasks.report.frames import DATA_SET, Frames, read_frames
from tasks.report.marks import legend_marker, mark
from tasks.report.overview import overview
from tasks.report.papers import COMPARABLE_SOURCES, comparisons
from tasks.report.plan import COMPARABLE_STEPS, PAPERS_STEPS, Plan, plan_of
from tasks.report.portraits import choose, portraits
from tasks.report.quality import disentanglement, quality, switched_off
from tasks.report.ranked import rankings
from tasks.report.strips import POINTS_PER_CELL
from tasks.report.tables import (
    Column,
    agreements,
    cell_rows,
    columns,
    curve_summary,
    failures,
    per_model,
    unscored,
)

INFORMATIVE = 0.01  # nats; Duan et al. 2020, equation 3


def write_report(store: Store, study: Mapping[str, Any]) -> str:
    """Write report/index.html from the store's tables; returns its path."""
    plan = plan_of(study)
    page = _template().render(context(store, plan, read_frames(store, plan)))
    store.write_bytes(page.encode(), "report", "index.html")
    return store.address("report", "index.html")


def context(store: Store, plan: Plan, frames: Frames) -> dict[str, Any]:
    """All that the template shows."""
    shown = columns(frames, plan)
    wide = per_model(frames)
    methods = [*plan.methods, *frames.models["method"].unique()]
    looks = colours.looks(methods)
    methods = list(looks)
    udr = _main_ranking(wide, shown)
    metrics = [column for column in shown if not column.is_udr]
    beside = plan.comparable and bool(wide["source"].isin(COMPARABLE_SOURCES).all())
    fewer = curves(store, frames, wide, shown, udr.name) if udr else []
    return {
        "plan": plan,
        "frames": frames,
        "made": datetime.now(UTC).strftime("%-d %B %Y, %H:%M UTC"),
        "overview": overview(plan, frames, methods),
        "failures": failures(frames),
        "unscored": unscored(frames),
        "looks": looks,
        "methods": methods,
        "columns": shown,
        "metrics": metrics,
        "udr": udr,
        "crowded": int(wide.groupby(DATA_SET).size().max() if len(wide) else 0) > CROWD,
        "cells": cell_rows(frames, wide, shown),
        "scales": {column.key: limits(wide[column.key]) for column in shown},
        "one_seed": bool(len(wide)) and wide["seed"].nunique() == 1,
        "distributions": panels.distributions(wide, shown, looks),
        "scatters": panels.udr_scatters(wide, udr, shown, looks) if udr else [],
        "agreements": agreements(wide, shown, methods) if udr else [],
        "rankings": rankings(wide, shown, udr) if udr else [],
        "beside": beside,
        "quality": quality(wide, shown, beside) if udr and metrics else [],
        "fewer": fewer,
        "fewer_rows": fewer_rows(fewer, beside),
        "fewer_panels": panels.fewer_comparisons(fewer, _drawn(shown), looks),
        "comparisons_asked": COMPARISONS,
        "draws": DRAWS,
        "switched_off": switched_off(wide, plan.latents),
        "choices": chosen_strengths(wide, shown) if udr else None,
        "curves": panels.training_curves(curve_summary(frames), looks),
        "portraits": [(c, portraits(store, c, wide, shown)) for c in choose(wide, udr)],
        "informative": INFORMATIVE if plan.kl_threshold is None else plan.kl_threshold,
        "comparisons": comparisons(wide) if plan.comparable else [],
        "published": published,
        "papers_steps": PAPERS_STEPS,
        "comparable_steps": COMPARABLE_STEPS,
        "references": references(
            *(methods, [column.key.removeprefix("metric ") for column in metrics]),
            *(dict.fromkeys([*plan.data, *frames.models["data"]]), any(c.is_udr for c in shown)),
        ),
    }


def _main_ranking(wide: pd.DataFrame, shown: list[Column]) -> Column | None:
    """The ranking that figures and pictures use: the first that ranks anything."""
    return next((c for c in shown if c.is_udr and wide[c.key].notna().any()), None)


def _drawn(shown: list[Column]) -> list[Column]:
    """The metrics whose curves are drawn: four at most, the paper's if they are there."""
    metrics = disentanglement(shown)
    return sorted(metrics, key=lambda metric: metric.name not in published.FOUR)[:4]


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        mark=mark,
        legend_marker=legend_marker,
        points_per_cell=POINTS_PER_CELL,
        enough=ENOUGH,
        css_variables=colours.css,
        data_name=names.data_name,
        method_name=names.method_name,
        symbol=names.symbol,
        sources=names.SOURCES,
        pool_meanings=names.POOL_MEANINGS,
        strength_text=names.strength_text,
        number=names.number,
        plural=names.plural,
    )
    environment.filters["strength_text"] = names.strength_text
    return environment.get_template("page.html.j2")
