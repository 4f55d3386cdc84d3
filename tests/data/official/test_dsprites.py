"""The official dSprites is accepted by its checksum, or if its pictures are the redrawn ones."""

import hashlib
import pickle
import tempfile
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from data import dsprites
from data.official import dsprites as official_dsprites
from data.official.dsprites import NAME, NPZ
from data.official.unpack import hdf5_blocks, npz_blocks
from infra.errors import WrongInput
from tests.data.official.test_unpack import Trap

TINY = Path(__file__).parents[4] / "shared" / "data" / "formats" / f"{NAME}.hdf5"
PICTURES = 3000  # the first of them stand for all


def draw():
    remaining = PICTURES
    for block in dsprites.draw():
        yield block[:remaining]
        remaining -= len(block[:remaining])
        if not remaining:
            return


@pytest.fixture(scope="module")
def sprites():
    packed = np.concatenate(list(draw()))
    return np.unpackbits(packed, axis=1).reshape(-1, 64, 64)


@pytest.fixture
def small():
    return official_dsprites.published(PICTURES, draw)


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def flipped(sprites, count):
    wrong = sprites.copy()
    wrong.reshape(-1)[np.random.default_rng(0).permutation(wrong.size)[:count]] ^= 1
    return wrong


def write_npz(folder, published, **arrays):
    """The official file, with the checksum that this content has."""
    path = folder / NPZ.name
    np.savez(path, **arrays)
    checksum = f"md5:{hashlib.md5(path.read_bytes()).hexdigest()}"
    return path, replace(published, files=(replace(NPZ, checksum=checksum),))


def write_hdf5(folder, sprites):
    with h5py.File(folder / f"{NAME}.hdf5", "w") as file:
        file["imgs"] = sprites
        file["latents/classes"] = np.zeros((len(sprites), 6))
    return folder / f"{NAME}.hdf5"


def test_the_npz_is_accepted_by_its_checksum(folder, small, sprites):
    wrong, trap = flipped(sprites, 2043), folder / "executed"
    metadata = np.array(Trap(trap), dtype=object)
    path, small = write_npz(folder, small, imgs=wrong, metadata=metadata)
    small.take(path, folder / "cache")
    stored = small.pixels(folder / "cache", "dsprites")
    assert np.array_equal(np.unpackbits(stored, axis=1).reshape(-1, 64, 64), wrong)
    assert small.remark(stored) == "2043 pixels differ from the redrawing"
    assert not trap.exists()
    with np.load(path, allow_pickle=True) as archive:
        pickle.dumps(archive["metadata"].shape)
    assert trap.exists()  # the trap works


def test_another_npz_is_refused(folder, small, sprites):
    path, other = write_npz(folder, small, imgs=sprites)
    with pytest.raises(WrongInput, match=f"{NPZ.name}.*checksum.*{NPZ.checksum}"):
        small.take(path, folder / "cache")
    path, other = write_npz(folder, small, imgs=sprites + np.uint8(1))
    with pytest.raises(WrongInput, match=f"{NPZ.name}.*a pixel of 2"):
        other.take(path, folder / "cache")
    assert not other.is_ready(folder / "cache")


@pytest.mark.parametrize("as_folder", [True, False])
def test_the_hdf5_is_accepted_if_its_pictures_are_the_same(folder, small, sprites, as_folder):
    path = write_hdf5(folder, flipped(sprites, 1000))
    small.take(folder if as_folder else path, folder / "cache")
    stored = small.pixels(folder / "cache", "dsprites")
    assert official_dsprites.differing(stored, draw) == 1000


def test_an_hdf5_with_other_pictures_is_refused(folder, small, sprites):
    path = write_hdf5(folder, flipped(sprites, 1001))
    with pytest.raises(WrongInput, match=r"hdf5: found at least 1001 pixels that differ"):
        small.take(path, folder / "cache")
    assert not list((folder / "cache").glob("dsprites-official*s"))
    write_hdf5(folder, np.roll(sprites, 1, axis=0))
    with pytest.raises(WrongInput, match="differ"):
        small.take(path, folder / "cache")


@pytest.mark.skipif(not TINY.is_file(), reason=f"needs the tiny file {TINY}")
def test_a_tiny_file_of_the_true_format(folder):
    (pictures,) = hdf5_blocks(TINY, "imgs", (5, 64, 64))
    with h5py.File(TINY) as file:
        assert np.array_equal(pictures, file["imgs"][:])
    np.savez(folder / "tiny.npz", imgs=pictures)
    (same,) = npz_blocks(folder / "tiny.npz", "imgs", (5, 64, 64))
    assert np.array_equal(same, pictures)
    with pytest.raises(WrongInput, match=r"hdf5.*\(5, 64, 64\).*\(737280, 64, 64\)"):
        dsprites.PUBLISHED["official"].take(TINY, folder / "cache")


def test_the_source_decides_which_file_is_read(cache, folder):
    """The redrawn file stands in for the official one, which is as large."""
    with pytest.raises(WrongInput, match="tolstoy data fetch dsprites") as error:
        dsprites.load(folder, "official")
    assert "look-alike" not in str(error.value)
    (folder / dsprites.FILES["official"]).symlink_to(cache / dsprites.FILES["redrawn"])
    data_set = dsprites.load(folder, "official")
    assert data_set.source == "official"
    assert official_dsprites.differing(data_set.packed, dsprites.draw) == 0
    assert not (folder / dsprites.FILES["redrawn"]).exists()
    assert dsprites.load(cache).source == "redrawn"
