"""The n-th call of a run to its storage fails, for every n: the next run ends with the same tables.

SQLite is tested in this way. The normal suite takes a part of the calls; `make test-slow` all. A
run that ends well has the right tables at once; one that does not, ends with a line and no
traceback. No finished model is trained again, and nothing is left behind.

Not in it: the report; files that are really lost (tests/campaign has those); calls of two drivers.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.errors import WrongInput
from infra.files import refusal
from infra.store import Store
from tasks.study.model import TRAINED
from tests.flows.made_up_study import contents, made_up_models, run, study
from tests.infra.failing_storage import (
    IN_FOLDERS,
    IN_OBJECT_STORES,
    Ended,
    Kind,
    Storage,
    failing_storage,
)

PATIENT, IMPATIENT = study(storage_minutes=10), study(storage_minutes=0)
ENDS = MENDED, LINES, ENDED = "run went on", "ended: a line", "process ended"


@dataclass
class Sweep:
    """Runs with one failing call each; `wrong` has those that did not end as they should."""

    storage: Storage
    folder: Path
    uri: str
    trained: list[str]
    wrong: list[str]

    def undisturbed(self, kind: Kind) -> tuple[int, dict[str, list[str]]]:
        """How many calls the kind can strike, and the tables."""
        self._empty()
        self.storage.arm(kind)
        assert run(PATIENT, self.uri) == []
        calls = self.storage.count
        return calls, self._contents()

    def disturbed(self, name: str, kind: Kind, number: int, wanted: dict[str, list[str]]) -> str:
        """Let the call fail, then run again; how the first run ended."""
        self._empty()
        self.storage.arm(kind, number)
        ended, lines = self._run(kind)
        at = f"{name}, call {number}, {self.storage.struck}"
        self.storage.arm()
        self._age_temporary_files()
        finished = self._finished()
        if ended == MENDED and not lines:
            self._compare(f"{at}: silently wrong", wanted)
        self.trained.clear()
        try:
            again = run(PATIENT, self.uri)
        except Exception as error:
            self.wrong.append(f"{at}: the next run: {type(error).__name__}: {error}")
            return ended
        if again:
            self.wrong.append(f"{at}: first {lines}, the next run: {again}")
        elif kind.when != "cut" and finished & set(self.trained):
            self.wrong.append(f"{at}: a model was trained again")
        else:
            self._compare(at, wanted)
        if kind.error:
            self._find_litter(at)
        return ended

    def _run(self, kind: Kind) -> tuple[str, list[str]]:
        try:
            lines = run(IMPATIENT if kind.lasts else PATIENT, self.uri)
        except Ended:
            return ENDED, []
        except WrongInput as error:
            return LINES, [str(error)]
        except OSError as error:
            if message := refusal(error):
                return LINES, [str(message)]
            self.wrong.append(f"{self.storage.struck}: a traceback: {error!r}")
            return "traceback", []
        except Exception as error:
            self.wrong.append(f"{self.storage.struck}: a traceback: {error!r}")
            return "traceback", []
        return (LINES if lines else MENDED), lines

    def _finished(self) -> set[str]:
        rows = Store(self.uri).read("models", ["model_id", "status"]).to_pylist()
        return {row["model_id"] for row in rows if row["status"] == TRAINED}

    def _compare(self, at: str, wanted: dict[str, list[str]]) -> None:
        found = self._contents()
        if different := [table for table in wanted if found[table] != wanted[table]]:
            self.wrong.append(f"{at}: other {', '.join(different)}")

    def _contents(self) -> dict[str, list[str]]:
        self.storage.arm()
        return contents(self.uri)

    def _age_temporary_files(self) -> None:
        """The next run is two hours later: a younger file may be one that is still written."""
        for file in self._place.rglob("*.tmp"):
            os.utime(file, (time.time() - 7200,) * 2)

    def _find_litter(self, at: str) -> None:
        """All but lines of logs that nobody could finish, a few bytes."""
        patterns = ("*.tmp", "checkpoint*", "drivers/*.json", "claims/[!.]*", "*probe*")
        names = [file.name for pattern in patterns for file in self._place.rglob(pattern)]
        if files := [name for name in names if not name.startswith(".log.txt.")]:
            self.wrong.append(f"{at}: left behind: {files}")

    @property
    def _place(self) -> Path:
        return self.folder / ("buckets" if "://" in self.uri else "stores")

    def _empty(self) -> None:
        self.storage.arm()
        shutil.rmtree(self._place, ignore_errors=True)


@contextmanager
def sweep_of(folder: Path, uri: str) -> Iterator[Sweep]:
    with made_up_models() as trained, failing_storage(folder) as storage:
        yield Sweep(storage, folder, uri.format(folder=folder), trained, [])


def sweep_all(sweep: Sweep, kinds: dict[str, Kind], every: int) -> None:
    """Every so many calls of each kind; prints a table."""
    head = ("calls", "tried", *ENDS, "then mended")
    print(f"\n{'':20}" + "".join(f"{name:>15}" for name in head))
    for name, kind in kinds.items():
        calls, wanted = sweep.undisturbed(kind)
        numbers, before = range(1 + len(name) % every, calls + 1, every), len(sweep.wrong)
        ends = Counter(sweep.disturbed(name, kind, number, wanted) for number in numbers)
        mended = len(numbers) - (len(sweep.wrong) - before)
        row = (calls, len(numbers), *(ends[end] for end in ENDS), mended)
        print(f"{name:20}" + "".join(f"{number:15}" for number in row), flush=True)
    assert not sweep.wrong, "\n".join(sweep.wrong)


FOLDER, BUCKET = "{folder}/stores/made-up", "s3://bucket/made-up"


@pytest.mark.parametrize(("uri", "kinds"), [(FOLDER, IN_FOLDERS), (BUCKET, IN_OBJECT_STORES)])
def test_some_calls(tmp_path: Path, uri: str, kinds: dict[str, Kind]) -> None:
    with sweep_of(tmp_path, uri) as sweep:
        sweep_all(sweep, kinds, every=40)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("uri", "kinds"), [(FOLDER, IN_FOLDERS), (BUCKET, IN_OBJECT_STORES)])
def test_every_call(tmp_path: Path, uri: str, kinds: dict[str, Kind]) -> None:
    with sweep_of(tmp_path, uri) as sweep:
        sweep_all(sweep, kinds, every=1)
