"""`tolstoy rank FILE`: anyone's models, all compared with all."""

from __future__ import annotations

import json as jsonlib
import math
from pathlib import Path
from typing import Any

from flows.commands.rank import Ranking
from flows.commands.text import table

THRESHOLD = 0.01  # a latent of larger KL is informative, as in the released code


def rank_file(file: Path, asked: Ranking) -> int:
    """Print the models best first, or, as JSON, in the file's order with all pairs."""
    from metrics.udr import aggregate, pairwise
    from tasks.own import naming_file, read_models
    from tasks.streams import stream

    own = read_models(file)
    similarity = asked.similarity or "lasso"
    with naming_file(file):
        pairs = pairwise(own.codes, own.kl, similarity, THRESHOLD)
    collapsed = pairs.informative == 0
    draws = stream("udr", "file", similarity)
    udr, comparisons = aggregate(pairs.udr, collapsed, asked.p or None, draws)
    models: list[dict[str, Any]] = [
        {
            "model": own.names[i] if own.names else i,
            "udr": _number(udr[i]),
            "informative": int(pairs.informative[i]),
            "comparisons": int(comparisons[i]),
            "collapsed": bool(collapsed[i]),
        }
        for i in range(len(udr))
    ]
    if asked.plot is not None:
        _draw(own, models, pairs.udr, similarity, file, asked.plot)
    if asked.json:
        square = [[_number(value) for value in row] for row in pairs.udr]
        print(jsonlib.dumps({"similarity": similarity, "models": models, "pairs": square}))
        return 0
    print(_table(models, asked.top))
    print(f"\n{len(models)} models compared by {similarity}{_collapsed(models)}")
    return 0


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _table(models: list[dict[str, Any]], top: int) -> str:
    best = sorted(models, key=lambda one: (one["udr"] is None, -(one["udr"] or 0.0)))
    rows = [
        [
            rank,
            one["model"],
            "-" if one["udr"] is None else f"{one['udr']:.4f}",
            one["informative"],
            one["comparisons"],
        ]
        for rank, one in enumerate(best[:top], 1)
    ]
    return table(["rank", "model", "udr", "informative", "comparisons"], rows)


def _collapsed(models: list[dict[str, Any]]) -> str:
    count = sum(one["collapsed"] for one in models)
    return f"; {count} collapsed (no informative latent)" if count else ""


def _draw(
    own: Any, models: list[dict[str, Any]], scores: Any, similarity: str, file: Path, target: Path
) -> None:
    from tasks.plots import PlottedModel, agreement, draw_ranking, extremes

    informative = (
        (own.codes != own.codes[:, :1]).any(axis=1) if own.kl is None else own.kl > THRESHOLD
    )
    names = list(own.names or (f"model {i}" for i in range(len(models))))
    sides = list(zip(names, own.codes, informative, strict=True))
    udr, collapsed = ([one[name] for one in models] for name in ("udr", "collapsed"))
    portraits = [
        agreement(f"{end}, UDR {udr[model]:.3f}", sides[partner], sides[model], similarity)
        for end, model, partner in extremes(scores, udr, collapsed)
    ]
    ranked = [PlottedModel(name, value) for name, value in zip(names, udr, strict=True)]
    draw_ranking(ranked, portraits, f"{file.name}: UDR, {similarity}", target)
