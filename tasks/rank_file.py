"""The ranking of the models in a file of the user's own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.runtime import cores
from metrics import INFORMATIVE_KL, SIMILARITIES
from metrics.udr import Pairs, aggregate, pairwise
from tasks.own import OwnModels, naming_file, read_models
from tasks.streams import stream
from tasks.what_was_read import doubts, models_text
from tasks.words import ranking_name

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class FileRanking:
    """Models in the file's order, and how well i (rows) predicts j (columns)."""

    similarity: str
    models: Rows
    pairs: list[list[float | None]]
    read: str  # how many models, points and latents
    doubts: list[str]  # why the ranking may mean little

    def as_json(self) -> dict[str, Any]:
        return {"similarity": self.similarity, "models": self.models, "pairs": self.pairs}


def rank_file(file: Path, similarity: str, p: int | None, plot: Path | None) -> FileRanking:
    """Compare all models with each other, or each with `p` of them."""
    from threadpoolctl import threadpool_limits

    own = read_models(file)
    with naming_file(file), threadpool_limits(1, "blas"):
        pairs = pairwise(own.codes, own.kl, similarity, threads=cores())
    collapsed = pairs.informative == 0
    symmetric = SIMILARITIES[similarity].symmetric
    udr, comparisons = aggregate(
        pairs.udr, collapsed, p, stream("udr", "file", similarity), symmetric
    )
    models = [
        {
            "model": own.names[i] if own.names else i,
            "udr": _finite(udr[i]),
            "informative": int(pairs.informative[i]),
            "comparisons": int(comparisons[i]),
            "collapsed": bool(collapsed[i]),
        }
        for i in range(len(udr))
    ]
    if plot is not None:
        title = f"{file.name}: {ranking_name(similarity)}, {similarity}"
        _draw(own, models, pairs, similarity, title, plot)
    values = [[_finite(v) for v in row] for row in pairs.udr]
    why = [*doubts(own.codes.shape[1], "point"), *_doubts_about_kl(own)]
    return FileRanking(similarity, models, values, models_text(own), why)


def _doubts_about_kl(own: OwnModels) -> list[str]:
    """Why informative latents may be the wrong ones."""
    if own.kl is None:
        return [
            "without kl (models, latents) every latent that varies counts as informative, also "
            f"noise; with it, latents of at most {INFORMATIVE_KL} nats are left out"
        ]
    negative = int((own.kl < 0).sum())
    if negative:
        return [
            f"kl: {negative:,} of {own.kl.size:,} values are below 0, which a KL cannot be: is it "
            "the mean KL of each latent to the prior, in nats?"
        ]
    if not (own.kl > INFORMATIVE_KL).any():
        return [
            f"kl: no value is above {INFORMATIVE_KL} nats, so that all models count as collapsed: "
            "is it the mean KL of each latent to the prior, in nats?"
        ]
    return []


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _draw(
    own: OwnModels, models: Rows, pairs: Pairs, similarity: str, title: str, target: Path
) -> None:
    from tasks.plots import PlottedModel, Side, draw_models

    if own.kl is None:
        informative = (own.codes != own.codes[:, :1]).any(axis=1)
    else:
        informative = own.kl > INFORMATIVE_KL
    names = own.names or [f"model {i}" for i in range(len(models))]

    def side(i: int) -> Side:
        return names[i], own.codes[i], informative[i]

    plotted = [
        PlottedModel(name, row["udr"], collapsed=row["collapsed"])
        for name, row in zip(names, models, strict=True)
    ]
    draw_models(plotted, pairs.udr, side, similarity, title, target)
