"""A study as one table: a row per model and a column per number, for other tools."""

from __future__ import annotations

import pandas as pd

from infra.store import Store
from metrics import HEADLINE
from tasks.report.frames import Frames, read_frames
from tasks.study.axes import method_of
from tasks.study.spec import Study


def wide_table(store: Store, study: Study) -> pd.DataFrame:
    """Models of the newest protocol in the order of the grid, also those without weights.

    A metric's headline has the metric's name, a part of it `metric.part`; a ranking is
    `udr.similarity.pool`. Numbers per factor stay in the table `scores`.
    """
    frames = read_frames(store, study)
    models = frames.models.assign(method=frames.models["method"].map(method_of))
    wide = models.set_index("model_id", drop=False)
    ranks = frames.ranks
    if len(ranks):
        names = "udr." + ranks["similarity"] + "." + ranks["pool"]
        udr = ranks.assign(name=names).pivot(index="model_id", columns="name", values="udr")
        facts = ranks.drop_duplicates("model_id").set_index("model_id")
        wide = wide.join(facts[["informative", "collapsed"]]).join(udr)
    return wide.join(_scores(frames)).reset_index(drop=True)


def _scores(frames: Frames) -> pd.DataFrame:
    rows = frames.parts.select(["model_id", "metric", "part", "value"]).to_pandas()
    rows = rows.drop_duplicates(["model_id", "metric", "part"], keep="last")
    is_part = rows["part"] != HEADLINE
    names = rows["metric"].where(~is_part, rows["metric"] + "." + rows["part"])
    order = list(dict.fromkeys(names))
    named = pd.DataFrame(rows.assign(name=names))
    table: pd.DataFrame = named.pivot(index="model_id", columns="name", values="value")
    return table.reindex(columns=order)
