"""The copies of own pictures in a cache: what each is of, and whether a study can still use it."""

import os
import shutil

import numpy as np
import pytest

from data import own
from data.own import OwnFiles, copies
from tests.data.own import samples


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def states(cache):
    return [(copy.place, copy.state) for copy in copies.find(cache)]


def test_a_copy_knows_its_files_and_whether_they_changed(tmp_path, cache):
    images = samples.write(tmp_path / "own.npz", samples.pictures(), samples.factors())
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "a.png").write_bytes(samples.encoded(samples.pictures(1)[0]))
    for files in (OwnFiles(images), OwnFiles(folder=str(folder), skip_broken=True)):
        own.load("mine", files, cache)
    arrays, photos = copies.find(cache)
    assert arrays.origin == OwnFiles(images)
    assert photos.origin == OwnFiles(folder=str(folder), skip_broken=True)
    assert [file.suffix for file in arrays.files] == [".factors", ".facts", ".origin", ".pixels"]
    assert arrays.bytes > 12 * 3 * 64 * 64 and arrays.facts["count"] == 12
    assert states(cache) == [(images, "current"), (str(folder), "current")]
    os.utime(images, (1, 1))
    assert states(cache) == [(images, "changed"), (str(folder), "current")]
    own.load("mine", OwnFiles(images), cache)
    shutil.rmtree(folder)
    expected = [(images, "changed"), (images, "current"), (str(folder), "gone")]
    assert sorted(states(cache)) == expected


def test_copies_of_other_versions_and_half_copies_are_unknown(tmp_path, cache):
    images = samples.write(tmp_path / "own.npz", samples.pictures())
    own.load("mine", OwnFiles(images), cache)
    (copy,) = copies.find(cache)
    for file in copy.files:
        file.rename(file.with_name(file.name.replace(copies.START, "own-1-")))
    half = cache / f"{copies.START}{'0' * 32}.pixels"
    half.write_bytes(np.zeros(9, np.uint8))
    (cache / "own-thesis.npz").write_bytes(b"the user's")
    assert [copy.state for copy in copies.find(cache)] == ["unknown", "unknown"]
    assert half in {file for copy in copies.find(cache) for file in copy.files}
