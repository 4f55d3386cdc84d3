"""The schemas of the store's tables, one place each, with a sentence for every column.

`python -m infra.tables` prints docs/tables.md; a test fails when that page is stale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyarrow as pa

# Of models, and part of their ids. Raised when a change makes new numbers incomparable with old
# ones; CHANGELOG.md says what changed. Rows of scores have their metric's own (metrics.METRICS).
PROTOCOL = 1


def _column(name: str, kind: pa.DataType, about: str) -> pa.Field:
    return pa.field(name, kind, metadata={"about": about})


NEW = "null in most rows of older versions"
NO_POSTERIOR = "null of a method without a posterior"


@dataclass(frozen=True)
class Axis:
    """What a study may sweep beside strength and seed: a field of a model and of Study, of which a
    list is a sweep, and a key column of every table."""

    unit: str  # of a number of it, as in "4 latents"
    kind: pa.DataType
    about: str


AXES = {
    "architecture": Axis(
        "architecture", pa.string(), f"paper, library, resnet or resnet_small; {NEW}"
    ),
    "latents": Axis("latent", pa.int32(), f"number of latents; {NEW}"),
}

KEYS = (
    _column("model_id", pa.string(), "first 16 hex digits of the hash of all that is science"),
    _column("data", pa.string(), "data set"),
    _column("source", pa.string(), "official, redrawn, look-alike or user"),
    _column("method", pa.string(), "objective"),
    _column(
        "strength", pa.float64(), "the one hyperparameter that the method sweeps; 0 without one"
    ),
    *(_column(name, axis.kind, axis.about) for name, axis in AXES.items()),
    _column("seed", pa.int32(), "seed of the model"),
    _column("protocol", pa.int32(), "raised when new numbers are not comparable with old ones"),
)

TABLES: dict[str, tuple[str, tuple[pa.Field, ...]]] = {
    "models": (
        "One row per model.",
        (
            _column("status", pa.string(), "trained, diverged or failed"),
            _column("reason", pa.string(), "why it diverged or failed; empty when trained"),
            _column("steps", pa.int32(), "optimiser steps done"),
            _column("seconds", pa.float64(), "seconds spent training, over all attempts"),
            _column("device", pa.string(), "cpu or the name of the GPU"),
            _column(
                "loss",
                pa.float64(),
                "last logged loss, of InfoGAN the critic's; null of a method without steps",
            ),
            _column(
                "reconstruction", pa.float64(), f"nats per image over the probe; {NO_POSTERIOR}"
            ),
            _column(
                "kl",
                pa.float64(),
                f"nats per image over the probe, summed over latents; {NO_POSTERIOR}",
            ),
            _column("elbo", pa.float64(), f"minus reconstruction minus kl; {NO_POSTERIOR}"),
            _column(
                "kl_per_latent",
                pa.list_(pa.float32()),
                "nats per image over the probe; empty of a method without a posterior",
            ),
            _column("training_steps", pa.int32(), "optimiser steps asked for"),
            _column(
                "versions",
                pa.string(),
                "JSON: versions of Tolstoy, torch, Python ...; where they are known commit, lock "
                "(SHA-256 of requirements.lock), processor and instructions",
            ),
            _column(
                "instructions",
                pa.string(),
                "instruction set of all its steps, on which the last digits depend, such as "
                "`x86_64, AVX-512`, or `CUDA 9.0`; null of a model that was given up without a "
                f"worker, and {NEW}",
            ),
            _column(
                "memory_mb",
                pa.float64(),
                "peak resident memory in MB of the worker's process during the last try, with "
                "Python and its packages; null where the system does not count it",
            ),
            _column(
                "tries", pa.int32(), "workers that began to train it; null where there is no log"
            ),
        ),
    ),
    "curves": (
        "One row per model and logged step.",
        (
            _column("step", pa.int32(), "optimiser step"),
            _column("loss", pa.float32(), "what is minimised; of InfoGAN the critic's loss"),
            _column(
                "reconstruction",
                pa.float32(),
                f"nats per image, on the step's batch; {NO_POSTERIOR}",
            ),
            _column("kl", pa.float32(), f"nats per image, on the step's batch; {NO_POSTERIOR}"),
            _column(
                "regulariser",
                pa.float32(),
                "loss minus reconstruction; of InfoGAN the part of mutual information",
            ),
        ),
    ),
    "representations": (
        "One row per model and probe row: the same ordered rows for all models of a data set.",
        (
            _column("row", pa.int32(), "position in the probe"),
            _column("mean", pa.list_(pa.float32()), "posterior mean, or the code, per latent"),
            _column(
                "logvar",
                pa.list_(pa.float32()),
                f"posterior log-variance per latent; {NO_POSTERIOR}",
            ),
            _column(
                "factors",
                pa.list_(pa.float32()),
                "real values of the row's factors, where the data set has continuous ones; null "
                "elsewhere and in rows of older versions",
            ),
        ),
    ),
    "pictures": (
        "One row per model and picture, so that the report needs tables only.",
        (
            _column(
                "kind",
                pa.string(),
                "traversal, reconstruction, samples of the prior, or zero_shot: pictures that the "
                "data set leaves out of the training, and below each its reconstruction",
            ),
            _column(
                "order",
                pa.list_(pa.int32()),
                "the latent of each row, by falling KL; of a method without a posterior in order",
            ),
            _column(
                "kl",
                pa.list_(pa.float32()),
                "KL of each row's latent; empty of a method without a posterior",
            ),
            _column("png", pa.binary(), "the picture, in 16 levels of brightness per channel"),
        ),
    ),
    "scores": (
        "One row per model, metric, part and factor.",
        (
            _column("metric", pa.string(), "metric"),
            _column(
                "part",
                pa.string(),
                "score is the headline; `score with label noise REGIME` the headline with noise on "
                "what the metric is told of factors; other parts are the metric's own",
            ),
            _column("factor", pa.string(), "factor of variation, or null"),
            _column("value", pa.float64(), "the value; null where there is none"),
            _column("reason", pa.string(), "why there is no value; empty where there is one"),
            _column("seconds", pa.float64(), "seconds the metric took"),
            _column("stream", pa.string(), "names whose hash seeded the metric's draws"),
        ),
    ),
    "pairs": (
        "One row per ordered pair of models and similarity; the keys are the target's.",
        (
            _column("regressor_id", pa.string(), "the model whose latents predict"),
            _column("similarity", pa.string(), "lasso, lasso_cv, spearman, centrality, cka or cca"),
            _column(
                "udr",
                pa.float64(),
                "relative strength, as the released library computes it; of centrality: the "
                "FactorVAE score of the regressor's latents with the target's as factors; of cka "
                "and cca: that number",
            ),
            _column(
                "udr_eq2",
                pa.float64(),
                "equation 2 of Duan et al. 2020; null of centrality, cka and cca",
            ),
        ),
    ),
    "ranks": (
        "One row per model, similarity, pool and number of comparisons asked for.",
        (
            _column("similarity", pa.string(), "lasso, lasso_cv, spearman, centrality, cka or cca"),
            _column("pool", pa.string(), "cell, method or data: whom the model is compared with"),
            _column("p", pa.int32(), "comparisons asked for; 0 means all"),
            _column(
                "udr",
                pa.float64(),
                "median over the comparisons; null without any; of centrality, cka and cca: the "
                "mean, of both directions of each",
            ),
            _column(
                "udr_eq2",
                pa.float64(),
                "the same median of equation 2; null of centrality, cka and cca",
            ),
            _column("informative", pa.int32(), "latents whose KL is above the threshold"),
            _column("comparisons", pa.int32(), "comparisons made"),
            _column("collapsed", pa.bool_(), "no informative latent: udr is 0"),
        ),
    ),
    "dynamics": (
        "One row per model whose training dynamics were compared with those of its cell's others; "
        "a part per cell.",
        (
            _column(
                "dynamics",
                pa.float64(),
                "mean MMD² over the pairs of the cell's models, in all its rows; less is more "
                "stable",
            ),
            _column(
                "low",
                pa.float64(),
                "lower end of its bootstrap interval over models; null with two models",
            ),
            _column("high", pa.float64(), "upper end of the interval"),
            _column("models", pa.int32(), "models of the cell that were compared"),
            _column("partners", pa.list_(pa.string()), "ids of the others"),
            _column("mmd2", pa.list_(pa.float64()), "MMD² with each partner"),
            _column("steps", pa.list_(pa.int32()), "optimiser steps of the snapshots"),
            _column("samples", pa.int32(), "samples that were traced, the same for all models"),
            _column("factor_names", pa.list_(pa.string()), "factors of the samples"),
            _column("factors", pa.list_(pa.int32()), "their values, samples × factors, row by row"),
            _column("dimensions", pa.int32(), "of the joint embedding of the cell"),
            _column(
                "embedding",
                pa.list_(pa.float32()),
                "this model's points in it, snapshots × samples × dimensions, row by row",
            ),
            _column(
                "settings", pa.string(), "JSON: how dynamics were compared (dynamics in the spec)"
            ),
            _column("bandwidth", pa.float64(), "of the MMD's kernel"),
            _column("residual", pa.float64(), "of the embedding; above 1e-4 it has not converged"),
            _column("seconds", pa.float64(), "seconds that the cell took"),
        ),
    ),
}


@cache
def schema(table: str) -> pa.Schema:
    """The model's keys, then the table's own columns."""
    about, columns = TABLES[table]
    return pa.schema((*KEYS, *columns), metadata={"about": about})


# For docs/tables.md: the same three questions, which a test asks of a made-up study.
QUERIES = {
    "pandas": """import pandas as pd

models = pd.read_parquet("study.parquet")
# which cells score best?
cells = models.groupby(["data", "method", "strength"]).mig.median().sort_values(ascending=False)
# does UDR agree with a score?
models["udr.lasso.method"].corr(models.mig, method="spearman")
# which model is the best of each data set by UDR?
best = models.loc[models.groupby("data")["udr.lasso.method"].idxmax(), ["data", "model_id"]]""",
    "sql": """-- DuckDB
-- which cells score best?
SELECT data, method, strength, median(mig) AS mig FROM 'study.parquet'
GROUP BY ALL ORDER BY mig DESC;
-- does UDR agree with a score?
SELECT corr(a, b) FROM (SELECT rank() OVER (ORDER BY "udr.lasso.method") AS a,
  rank() OVER (ORDER BY mig) AS b FROM 'study.parquet' WHERE mig IS NOT NULL);
-- which model is the best of each data set by UDR?
SELECT data, arg_max(model_id, "udr.lasso.method") AS model_id
FROM 'study.parquet' GROUP BY data;""",
    "r": """library(arrow)
models <- read_parquet("study.parquet")
# which cells score best?
cells <- aggregate(mig ~ data + method + strength, models, median)
cells[order(-cells$mig), ]
# does UDR agree with a score?
cor(models$udr.lasso.method, models$mig, method = "spearman", use = "complete.obs")
# which model is the best of each data set by UDR?
do.call(rbind, lapply(split(models, models$data), function(d) {
  d[which.max(d$udr.lasso.method), c("data", "model_id")]
}))""",
}


def page() -> str:
    """docs/tables.md."""
    lines = [
        "# Tables",
        "",
        "Made from `infra/tables.py` by `make docs`. Every table lies in",
        "`<store>/tables/<table>/*.parquet`; read one with `pandas.read_parquet(folder)`.",
        "",
        "## Columns of every table",
        "",
        *_rows(KEYS),
    ]
    for name, (about, columns) in TABLES.items():
        lines += ["", f"## {name}", "", about, "", *_rows(columns)]
    lines += [
        "",
        "## Queries",
        "",
        "`tolstoy export STORE --to study.parquet` writes a row per model: the keys, `status`,",
        "what training and UDR gave (`udr.SIMILARITY.POOL`), each metric's headline under its",
        "name and each part as `METRIC.PART`. Numbers per factor are in the table `scores`.",
    ]
    for language, text in QUERIES.items():
        lines += ["", f"```{language}", text, "```"]
    return "\n".join(lines)


def _rows(columns: tuple[pa.Field, ...]) -> list[str]:
    head = ["| column | type | what it is |", "|---|---|---|"]
    return head + [f"| {c.name} | {c.type} | {c.metadata[b'about'].decode()} |" for c in columns]


if __name__ == "__main__":
    print(page())
