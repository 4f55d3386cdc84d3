"""What `tolstoy rank STORE` prints."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flows.commands.run import headlines_first
from flows.commands.text import fitting, table
from infra.store import Store
from tasks.study.spec import Study, Udr

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Ranked:
    """One data set's ranking."""

    data: str
    models: Rows  # best first
    strengths: Rows  # the median of each strength of each method
    missing: int  # not trained, or without a readable representation
    lost: tuple[str, ...]  # ids of the latter


def as_json(study: Study, store: Store, results: Sequence[Ranked]) -> str:
    udr = study.udr
    facts = {
        "study": study.name,
        "store": str(store),
        "similarity": udr.similarities[0],
        "pool": udr.pools[0],
        "p": udr.p,
        "data": [
            {
                "data": one.data,
                "models": one.models,
                "strengths": one.strengths,
                "missing": one.missing,
                "lost": list(one.lost),
                "collapsed": sum(row["collapsed"] for row in one.models),
            }
            for one in results
        ],
    }
    return jsonlib.dumps(facts, indent=2)


def as_text(study: Study, results: Sequence[Ranked], top: int) -> str:
    blocks = []
    for one in results:
        if len(results) > 1:
            blocks.append(f"{one.data}\n{'-' * len(one.data)}")
        if one.models:
            blocks += [_best(one.models, top), _strengths(one.strengths)]
        blocks.append(_summary(study.udr, one))
    return "\n\n".join(blocks)


def _best(rows: Rows, top: int) -> str:
    columns = ["rank", "model", "method", "strength", "seed", "udr", "informative", "comparisons"]
    metrics = list(dict.fromkeys(metric for row in rows for metric in row["scores"]))
    metrics = [metrics[place] for place in headlines_first(metrics)]
    lines = []
    for row in rows[:top]:
        numbers = [row["udr"], *(row["scores"].get(metric) for metric in metrics)]
        udr, *scores = ["-" if value is None else f"{value:.3f}" for value in numbers]
        place = [row["rank"], row["model_id"], row["method"], f"{row['strength']:g}", row["seed"]]
        lines.append([*place, udr, row["informative"], row["comparisons"], *scores])
    head = [*columns, *metrics]
    count = max(len(columns), fitting(head, lines))
    text = table(head[:count], [line[:count] for line in lines])
    left_out = head[count:]
    return text + (
        f"\nand {len(left_out)} more (--json): {', '.join(left_out)}" if left_out else ""
    )


def _strengths(rows: Rows) -> str:
    shown = [
        [
            row["method"],
            f"{row['strength']:g}",
            f"{row['udr']:.3f}",
            row["models"],
            "<- best of the method" if row["best"] else "",
        ]
        for row in rows
    ]
    return table(["method", "strength", "median udr", "models", ""], shown) if shown else ""


def _summary(udr: Udr, one: Ranked) -> str:
    p = f"{udr.p} comparisons each" if udr.p else "all comparisons"
    facts = [f"{one.data}: {len(one.models)} models ranked by {udr.similarities[0]}"]
    facts.append(f"pool {udr.pools[0]}, {p}")
    if collapsed := sum(row["collapsed"] for row in one.models):
        facts.append(f"{collapsed} collapsed (no informative latent, UDR 0)")
    if one.missing:
        facts.append(f"{one.missing} missing")
    text = "; ".join(facts)
    if one.lost:
        text += f"\nwithout a readable representation: {', '.join(one.lost)}"
    return text
