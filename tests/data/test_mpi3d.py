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
    assert file.urls[0].endswith(f"/Final_Dataset/{name}.npz")
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
