"""Loops over pixels are compiled once per machine, and before the workers need them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tasks.data_sets
from data.base.loops import gather
from data.base.stored import StoredGrid
from data.shapes3d import DESCRIPTION
from tasks.study.data_choice import DataChoice
from tests.tree import ROOT

LOOPS = """
import numpy as np
from data.base.loops import gather
from data.base.polygons import fill_grid
from data.look_alikes.mixing import mix

gather(np.zeros((2, 3), np.uint8), np.array([1]), np.zeros((1, 3), np.float32))
fill_grid(np.zeros((1, 3), int), np.zeros((1, 3), int), np.zeros((1, 1, 64), np.uint64))
mix(
    np.zeros((1, 4, 2), np.uint8),
    np.zeros(1, np.int64),
    np.zeros((1, 4, 3), np.float32),
    np.zeros((1, 3, 2), np.float32),
)
for loop in (gather, fill_grid, mix):
    print(sum(loop.stats.cache_hits.values()), sum(loop.stats.cache_misses.values()))
"""


def hits_and_misses(cache: Path) -> list[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-c", LOOPS], env=environment, check=True, capture_output=True, text=True
    )
    return process.stdout.splitlines()


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    assert hits_and_misses(tmp_path) == ["0 1"] * 3
    assert hits_and_misses(tmp_path) == ["1 0"] * 3


def test_preparing_a_data_set_compiles_what_training_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = np.zeros((8, 3, 64, 64), np.uint8)
    grid = {**vars(DESCRIPTION), "factor_sizes": (2, 2, 2, 1, 1, 1), "pictures": 8}
    data_set = StoredGrid(**grid, pixels=pixels)
    monkeypatch.setattr(tasks.data_sets, "load", lambda choice: data_set)
    monkeypatch.setattr(gather, "overloads", type(gather.overloads)())
    tasks.data_sets.prepare(DataChoice(name="shapes3d"))
    compiled = list(gather.signatures)
    assert compiled
    tasks.data_sets.drawn_pictures(data_set, 5, np.random.default_rng(0))
    data_set.show(np.arange(8))
    assert gather.signatures == compiled


def test_a_data_set_that_cannot_be_shown_is_reported_where_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks.data_sets, "load", lambda choice: None)
    tasks.data_sets.prepare(DataChoice(name="shapes3d"))
