"""What a store must be after its round: as if nothing had happened."""

from __future__ import annotations

import math
import operator
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import pyarrow.fs as pafs

from infra.store import Store
from tests.campaign.machine_faults import OTHER_TYPE
from tests.campaign.stage import Lost, Stage
from tests.flows.conftest import contents

NUMBERS = ("udr", "udr_eq2", "value")  # that may be rounded differently
OF_A_MODEL = ("models", "curves", "representations", "pictures")
OF_MANY = ("scores", "pairs", "ranks")
LITTER = ("*.tmp", "checkpoint*", "drivers/*.json", "claims/[!.]*", "*probe*")


class Undisturbed:
    """Runs of the study that nobody disturbs, on this machine and on one of another type."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.here = self._run("undisturbed", {})
        self._there: dict[str, Any] | None = None

    @property
    def there(self) -> dict[str, Any]:
        if self._there is None:
            self._there = self._run("undisturbed-there", OTHER_TYPE)
        return self._there

    def of_these_models(self, store: Store) -> dict[str, Any]:
        """Scores and comparisons that a run makes of the models of a store, which has none."""
        copy = self.stage.folder / "same-models"
        shutil.copytree(store.root, copy)
        for table in OF_MANY:
            shutil.rmtree(copy / "tables" / table)
        try:
            return self._run(copy.name, {})
        finally:
            shutil.rmtree(copy)

    def _run(self, name: str, settings: Mapping[str, str]) -> dict[str, Any]:
        store = self.stage.folder / name
        arguments = ["run", str(self.stage.spec), "--store", str(store), "--workers", "2"]
        done = self.stage.tolstoy(arguments, dict(settings))
        done.process.wait()
        assert done.code == 0, done.output
        return contents(store)


def judge(stage: Stage, undisturbed: Undisturbed, gave_up: bool) -> None:
    """Raises Lost unless the store is as if nothing had happened, and nothing was left behind.

    All to the last bit; but comparisons multiply the codes of all models of a tile in one product
    of single precision, which rounds as its shape has it: if a model came later than the others,
    what is compared is the same to five digits.

    If a node of another type worked on it, each model must be to the last bit that of an
    undisturbed run on the type that its row names. Its scores may be from a worker of either type,
    and comparisons are of models of both: they must be, to five digits, what an undisturbed run
    makes of these very models.
    """
    ids = stage.store.read("models")["model_id"].to_pylist()
    if len(ids) != len(set(ids)):
        raise Lost("a model twice")
    rows_of = contents(stage.store.uri)
    if stage.mixed:
        _check_models_of_both_types(rows_of, undisturbed)
        _check_equal(rows_of, undisturbed.of_these_models(stage.store), OF_MANY, near_in=OF_MANY)
    else:
        near_in = ("pairs", "ranks") if gave_up else ()
        _check_equal(rows_of, undisturbed.here, tuple(undisturbed.here), near_in)
    if litter := _litter(stage.store):
        raise Lost(f"left behind: {litter}")
    within(60, lambda: stage.workers("train", "score", "compare"), "workers that still run")
    within(60, stage.server.under_way, "still Running in Prefect")


def _check_equal(
    rows_of: Mapping[str, Any],
    wanted: Mapping[str, Any],
    names: Sequence[str],
    near_in: Sequence[str],
) -> None:
    for name in names:
        same = near if name in near_in else operator.eq
        if not same(rows_of[name], wanted[name]):
            counts = f"{len(rows_of[name])} rows differ from the {len(wanted[name])} undisturbed"
            raise Lost(f"{name}: {counts}")


def _check_models_of_both_types(rows_of: Mapping[str, Any], undisturbed: Undisturbed) -> None:
    runs = {run["models"][0]["instructions"]: run for run in (undisturbed.here, undisturbed.there)}
    assert len(runs) == 2, f"there is but one instruction set: {list(runs)}"
    for model in rows_of["models"]:
        run = runs[model["instructions"]]
        for name in OF_A_MODEL:
            found, wanted = (
                [row for row in rows[name] if row["model_id"] == model["model_id"]]
                for rows in (rows_of, run)
            )
            if found != wanted:
                of = f"{model['model_id']}, with {model['instructions']}"
                raise Lost(f"{name}: {len(found)} rows of {of}, differ from {len(wanted)}")
        if rows_of["weights"][model["model_id"]] != run["weights"][model["model_id"]]:
            raise Lost(f"weights of {model['model_id']}, with {model['instructions']}")


def near(rows: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
    """Whether these are the same rows, their numbers up to rounding."""
    return len(rows) == len(wanted) and all(
        keys == others and all(map(_is_near, x, y))
        for (keys, x), (others, y) in zip(_by_keys(rows), _by_keys(wanted), strict=True)
    )


def _is_near(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-5)


def _by_keys(rows: list[dict[str, Any]]) -> list[tuple[str, list[float | None]]]:
    """What names a row, and its numbers."""
    return sorted(
        (
            (
                repr([value for name, value in row.items() if name not in NUMBERS]),
                [row[name] for name in NUMBERS if name in row],
            )
            for row in rows
        ),
        key=operator.itemgetter(0),
    )


def _litter(store: Store) -> list[str]:
    files = store.fs.get_file_info(pafs.FileSelector(store.root, recursive=True))
    places = [file.path[len(store.root) :].lstrip("/") for file in files if file.is_file]
    return [place for place in places if any(map(PurePath(place).match, LITTER))]


def within(seconds: float, remaining: Callable[[], Sequence[object]], what: str) -> None:
    deadline = time.monotonic() + seconds
    while rest := remaining():
        if time.monotonic() > deadline:
            raise Lost(f"{what}: {list(rest)[:5]}")
        time.sleep(1)
