"""How tries to train a model ended without weights: from the models' logs in the store."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from infra.store import Store
from tasks.log import model_log
from tasks.reasons import common_reason, pattern_of
from tasks.study.model import TRAINED

MOST_LOGS = 300  # a file each; a full grid has thousands
KILLED = "its log does not say how: its worker was killed, or the run was stopped"


@dataclass(frozen=True)
class EndedTries:
    """Tries that ended for one reason: the same but for the numbers in it."""

    reason: str
    tries: int
    models: int
    example: str  # the id of one of the models


@dataclass(frozen=True)
class FailedTries:
    reasons: tuple[EndedTries, ...]  # the most frequent first
    known: int  # tries of all kinds, where they are known
    unread: int = 0  # models whose logs may name more

    @property
    def count(self) -> int:
        return sum(reason.tries for reason in self.reasons)


def failed_tries(store: Store, models: pd.DataFrame) -> FailedTries:
    """Only logs that must name such a try are read, and of models that older versions trained."""
    ended = models["status"] != TRAINED
    known = models["tries"].notna()
    certain = models[ended | (models["tries"] > 1)]
    unsure = models[~ended & ~known]
    to_read = pd.concat([certain, unsure])
    number = 0
    ends: dict[str, list[tuple[str, str]]] = {}
    for row in to_read.head(MOST_LOGS).to_dict("records"):
        model_id, has_weights = str(row["model_id"]), row["status"] == TRAINED
        tries = model_log(store, model_id).tries()
        if not has_weights and (not tries or not tries[-1]):  # the driver knew why, the worker not
            tries = [*tries[:-1], f"{row['status']}: {row['reason'] or 'no reason recorded'}"]
        number += 0 if pd.notna(row["tries"]) else len(tries)
        for end in (end or KILLED for end in tries if end != TRAINED):
            ends.setdefault(pattern_of(end), []).append((end, model_id))
    reasons = [
        EndedTries(
            common_reason([end for end, _ in of_reason]),
            tries=len(of_reason),
            models=len({model_id for _, model_id in of_reason}),
            example=of_reason[0][1],
        )
        for of_reason in ends.values()
    ]
    return FailedTries(
        tuple(sorted(reasons, key=lambda reason: (-reason.tries, reason.reason))),
        known=int(models["tries"].sum()) + number,
        unread=max(len(to_read) - MOST_LOGS, 0),
    )
