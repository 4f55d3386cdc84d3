"""How far the models in training are: a small file for each, for people who wait.

Nothing depends on these files. Checkpoints decide where a training continues, and rows in the
tables decide which models are done.
"""

from __future__ import annotations

from contextlib import suppress

from infra.files import ABANDONED_SECONDS
from infra.store import Store

FOLDER = "under_way"
EVERY_SECONDS = 10.0  # a model writes, and a run reads, this often


def write_steps(store: Store, model_id: str, steps: int) -> None:
    """Write how many optimiser steps are done; a store that cannot be written raises no error."""
    with suppress(OSError):
        store.write_bytes(str(steps).encode(), FOLDER, model_id)


def forget_steps(store: Store, model_id: str) -> None:
    with suppress(OSError):
        store.remove(FOLDER, model_id)


def remove_abandoned(store: Store) -> None:
    """Remove the temporary files of workers that were killed while they wrote."""
    with suppress(OSError):
        store.remove_temporary(FOLDER, older_than=ABANDONED_SECONDS)


def steps_under_way(store: Store) -> dict[str, int]:
    """By model id: the steps that were done when each model in training last wrote."""
    steps = {}
    for model_id in store.names(FOLDER):
        with suppress(OSError, ValueError):  # it ended since, or its file is damaged
            steps[model_id] = int(store.read_bytes(FOLDER, model_id))
    return steps
