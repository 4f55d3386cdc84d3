"""Files that `tolstoy rank` reads: models to compare, and traces of models in training."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from metrics.dynamics import Settings
from tasks import own_arrays
from tasks.own_traces import read_traces
from tasks.rank_dynamics import check_files
from tasks.rank_file import FileRanking, rank_file
from tests.fuzz import own_files
from tests.fuzz.cases import accepted, of_each, only_in, run
from tests.fuzz.mutations import edited, edits

FREE = 200_000_000  # bytes of memory that are said to be free
FORMATS = [".npz", ".h5"]
SIMILARITIES = ["spearman", "lasso", "centrality", "cka"]
DRAWS = np.random.default_rng(0)
MODELS: own_files.Arrays = {
    "codes": DRAWS.normal(size=(3, 20, 2)),
    "kl": DRAWS.uniform(size=(3, 2)),
    "names": np.array(["a", "b", "c"]),
}
TRACES: own_files.Arrays = {
    "traces": DRAWS.normal(size=(4, 3, 5, 2)).astype(np.float32),
    "groups": np.array(["a", "a", "b", "b"]),
}


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_arrays, "free_memory_bytes", lambda: float(FREE))


@pytest.fixture(autouse=True, scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """numba unpickles when it compiles a function for a type, or reads it from its cache."""
    path = tmp_path_factory.mktemp("sound") / "models.npz"
    for kind in (np.float32, np.float64):
        own_files.write(path, {**MODELS, "codes": MODELS["codes"].astype(kind)})
        for similarity in SIMILARITIES:
            rank_file(path, similarity, None, None)


def check_models(path: Path, similarity: str) -> None:
    """Every model has its place in the ranking, or the file is refused."""
    with only_in(path.parent), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        ranking: FileRanking | None = accepted(lambda: rank_file(path, similarity, None, None))
    if ranking is not None:
        assert len(ranking.pairs) == len(ranking.models) >= 2
        for row in ranking.models:
            assert row["udr"] is None or -1e-6 <= row["udr"] <= 1 + 1e-6, row


def check_traces(path: Path) -> None:
    with only_in(path.parent), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        files = accepted(lambda: read_traces([path]))
        if files is None:
            return
        accepted(lambda: check_files(files, Settings()))
        for group in set(files[0].groups):
            for traces in files[0].models(group, None):
                assert np.isfinite(traces).all()


@of_each(FORMATS)
def test_hostile_models(cases: int, endings: Sequence[str], tmp_path: Path) -> None:
    def one(ending: str, content: own_files.Arrays, similarity: str) -> None:
        path = tmp_path / f"own{ending}"
        if own_files.write(path, content):
            check_models(path, similarity)

    run(
        cases,
        one,
        ending=st.sampled_from(endings),
        content=own_files.models(),
        similarity=st.sampled_from(SIMILARITIES),
    )


@of_each(FORMATS)
def test_hostile_traces(cases: int, endings: Sequence[str], tmp_path: Path) -> None:
    def one(ending: str, content: own_files.Arrays) -> None:
        path = tmp_path / f"own{ending}"
        if own_files.write(path, content):
            check_traces(path)

    run(cases, one, ending=st.sampled_from(endings), content=own_files.traces())


@of_each(FORMATS)
def test_files_with_faults(cases: int, endings: Sequence[str], tmp_path: Path) -> None:
    files = {}
    for ending in endings:
        for content, check in ((MODELS, _by_spearman), (TRACES, check_traces)):
            path = tmp_path / f"{check.__name__}{ending}"
            own_files.write(path, content)
            files[path] = path.read_bytes(), check

    def one(path: Path, changes: Any) -> None:
        content, check = files[path]
        path.write_bytes(edited(content, changes))
        check(path)

    run(cases, one, path=st.sampled_from(sorted(files)), changes=edits())


def _by_spearman(path: Path) -> None:
    check_models(path, "spearman")
