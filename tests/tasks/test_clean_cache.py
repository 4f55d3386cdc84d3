"""What `tolstoy data clean` may remove: nothing of others, nothing in use, nothing that is lost."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from data import dsprites, own
from data.base import cache as data_cache
from data.base import pixels
from data.own import OwnFiles, copies
from tasks.clean_cache import removable
from tests.data.own import samples

LOOK_ALIKE, REDRAWN = "cars3d-look-alike-1.pixels", dsprites.FILE
PUBLISHED, DOWNLOAD = "shapes3d-official-1.pixels", "downloads/3dshapes.h5.partial"
OLD, OLD_PUBLISHED = "dsprites-1.bits", "shapes3d-official-0.pixels"
LEFT = (f"{LOOK_ALIKE}.lock", f"{copies.START}{'0' * 32}.facts.lock", f"{REDRAWN}.gone.partial")
OTHERS = ("thesis.lock", "own-thesis.pixels", "x.partial", "downloads/x.h5", "calibration-0.json")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    (folder / "downloads").mkdir(parents=True)
    names = (LOOK_ALIKE, REDRAWN, PUBLISHED, DOWNLOAD, OLD, OLD_PUBLISHED, *LEFT, *OTHERS)
    for name in names:
        (folder / name).write_bytes(bytes(9))
    os.utime(folder / LEFT[2], (1, 1))
    return folder


def names(cache: Path, **more: bool) -> set[str]:
    found = removable(cache, **more)
    every = [str(file.relative_to(cache)) for one in found for file in one.files]
    assert len(every) == len(set(every))
    return set(every)


def test_only_what_costs_seconds_is_removed_unless_more_is_asked_for(cache: Path) -> None:
    quick = {LOOK_ALIKE, OLD, *LEFT}
    assert names(cache) == quick
    assert names(cache, everything=True) == quick | {REDRAWN}
    assert names(cache, fetched=True) == quick | {PUBLISHED, OLD_PUBLISHED, DOWNLOAD}
    for one in removable(cache, everything=True, fetched=True):
        assert one.remove()
    assert {str(p.relative_to(cache)) for p in cache.rglob("*") if p.is_file()} == set(OTHERS)


def test_copies_go_when_their_files_have_changed(cache: Path, tmp_path: Path) -> None:
    images = samples.write(tmp_path / "own.npz", samples.pictures(), samples.factors())
    own.load("mine", OwnFiles(images), cache)
    gc.collect()
    (copy,) = copies.find(cache)
    files = {file.name for file in copy.files}
    assert not files & names(cache) and files <= names(cache, everything=True)
    os.utime(images, (1, 1))
    assert files <= names(cache)
    (changed,) = (one for one in removable(cache) if one.files[0] in copy.files)
    assert changed.what == f"copy of {images}: these files have changed since"
    assert changed.bytes == copy.bytes and changed.remove() and not copies.find(cache)


def test_what_is_in_use_stays(cache: Path, tmp_path: Path) -> None:
    images = samples.write(tmp_path / "own.npz", samples.pictures(), samples.factors())
    loaded = own.load("mine", OwnFiles(images), cache)
    Path(images).unlink()
    mapped = pixels.mapped(cache / LOOK_ALIKE, (1, 9))
    stayed = {one.files[0].name for one in removable(cache) if not one.remove()}
    assert stayed == {LOOK_ALIKE, next(cache.glob("own-*-*.pixels")).name}
    assert mapped.tolist() == [[0] * 9]
    assert np.array_equal(loaded.pixels, samples.pictures().transpose(0, 3, 1, 2))
    assert len(copies.find(cache)[0].files) == 4


def test_what_is_being_written_stays(cache: Path) -> None:
    half = f"{copies.START}{'1' * 32}"
    (cache / f"{half}.pixels").write_bytes(bytes(9))
    assert f"{half}.pixels" in names(cache)
    with data_cache.locked(cache / f"{half}.facts.lock"):
        assert not {file for file in names(cache) if file.startswith(half)}


def test_an_empty_cache(tmp_path: Path) -> None:
    assert removable(tmp_path / "nowhere", everything=True, fetched=True) == []
    shutil.rmtree(tmp_path)
    assert removable(tmp_path) == []
