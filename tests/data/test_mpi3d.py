"""MPI3D: three published files of the same grid."""

import math

import numpy as np
import pytest

from data import mpi3d, mpi3d_real, mpi3d_realistic, mpi3d_toy
from infra.errors import WrongInput

MODULES = (mpi3d_toy, mpi3d_realistic, mpi3d_real)


@pytest.mark.parametrize("module", MODULES)
def test_the_data_set_has_the_official_source_only(module, tmp_path):
    name = module.DESCRIPTION.name
    assert module.__name__ == f"data.{name}"
    assert module.SOURCES == ("official",)
    assert math.prod(module.DESCRIPTION.factor_sizes) == mpi3d.PICTURES
    (file,) = module.PUBLISHED["official"].files
    assert all(url.startswith("https://") for url in file.urls) and len(set(file.urls)) == 3
    assert (
        file.urls[0]
        == f"https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/{name}.npz"
    )
    older = "real" if name == "mpi3d_real" else name
    assert file.urls[1].endswith(f"/mpi3d_disentanglement_dataset/data/{older}.npz")
    assert file.urls[2].endswith(f"/Final_Dataset/{name}.npz")
    with pytest.raises(WrongInput, match=f"tolstoy data fetch {name}") as error:
        module.load(tmp_path)
    assert "look-alike" not in str(error.value)


def test_the_three_do_not_share_a_file():
    for what in ("files", "ready"):
        assert len({getattr(module.PUBLISHED["official"], what) for module in MODULES}) == 3
    assert len({module.PUBLISHED["official"].files[0].checksum for module in MODULES}) == 3


def test_the_pictures_are_read_in_order(tmp_path):
    pictures = np.random.default_rng(0).integers(256, size=(2000, 64, 64, 3), dtype=np.uint8)
    np.savez(tmp_path / "mpi3d.npz", images=pictures)
    blocks = list(mpi3d.pictures(tmp_path / "mpi3d.npz", 2000))
    assert [len(block) for block in blocks] == [1024, 976]
    assert np.array_equal(np.concatenate(blocks), pictures.transpose(0, 3, 1, 2))
    with pytest.raises(WrongInput, match=r"mpi3d\.npz.*1036800"):
        list(mpi3d.pictures(tmp_path / "mpi3d.npz"))


def arm(count: int) -> np.ndarray:
    """A bar that moves along the last axis of 40 steps, and a second one along the axis before."""
    images = np.zeros((count, 64, 64, 3), np.uint8)
    images[:] = np.random.default_rng(0).integers(20, size=(64, 64, 3), dtype=np.uint8)
    for number, image in enumerate(images):
        row, column = number % 40, number // 40 % 40
        image[row : row + 8], image[:, column : column + 8] = 200, 150
    return images


def test_a_file_of_other_bytes_must_have_the_order_of_the_grid(tmp_path, monkeypatch):
    monkeypatch.setattr(mpi3d, "CHECKED", 1)
    count, file = 1600, tmp_path / "mpi3d.npz"
    images = arm(count)
    np.savez(file, images=images)
    mpi3d.check(file, count)
    wrong = {
        "shuffled": images[np.random.default_rng(0).permutation(count)],
        "black": np.zeros_like(images),
        "other size": images[:, :32],
        "other type": images.astype(np.int16),
        "fewer": images[:-1],
    }
    for name, pictures in wrong.items():
        np.savez(file, images=pictures)
        with pytest.raises(WrongInput) as error:
            mpi3d.check(file, count)
        assert "\n" not in str(error.value), name


def test_a_damaged_file_is_refused_also_where_it_is_not_compressed(tmp_path):
    """On Python 3.12 and later zipfile checks no sum after a seek."""
    file = tmp_path / "mpi3d.npz"
    np.savez(file, images=arm(1600))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    with pytest.raises(WrongInput, match="CRC"):
        mpi3d.check(file, 1600)
