"""The real cars give the published pictures, from the folder and from the archive."""

import hashlib
import io
import re
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import loadmat

from data import cars3d
from data.official import cars3d as official_cars
from infra.errors import WrongInput

CARS = Path(__file__).parents[3] / "shared" / "data" / "cars3d" / "cars"
real = pytest.mark.skipif(not CARS.is_dir(), reason=f"needs the real cars in {CARS}")
PUBLISHED = "e2c0e4e82583baf4981591763a36168898e127b9afa03447f0139ad7c7dc6400"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A cache that holds the real cars."""
    cache = tmp_path_factory.mktemp("cars")
    cars3d.PUBLISHED["official"].take(CARS.parent, cache)
    yield cache
    shutil.rmtree(cache)


@real
def test_the_pictures_are_the_published_ones(folder):
    stored = cars3d.load(folder).pixels
    digest = hashlib.sha256()
    for block in np.split(stored, 4):
        digest.update(np.ascontiguousarray(block.transpose(0, 2, 3, 1)).data)
    assert digest.hexdigest() == PUBLISHED
    assert cars3d.PUBLISHED["official"].check(folder)


@real
@pytest.mark.parametrize(
    ("elevation", "azimuth", "car"), [(0, 0, 0), (3, 0, 1), (1, 23, 182), (2, 7, 54)]
)
def test_the_factors_find_the_picture(folder, elevation, azimuth, car):
    data_set = cars3d.load(folder)
    assert data_set.source == "official"
    (image,) = data_set.images(np.array([[elevation, azimuth, car]]), np.random.default_rng(0))
    name = (CARS / "list.txt").read_text().split()[car]
    picture = loadmat(CARS / f"{name}.mat")["im"][..., azimuth, elevation]
    small = Image.fromarray(picture).resize((64, 64), Image.Resampling.LANCZOS)
    assert np.array_equal(image, np.asarray(small, np.float32).transpose(2, 0, 1) / 255)


def few_cars(count: int) -> str:
    """The checksum of the first real cars."""
    cars = [
        official_cars.car(path.read_bytes(), path) for path in sorted(CARS.glob("*.mat"))[:count]
    ]
    return hashlib.sha256(np.stack(cars, 2).transpose(0, 1, 2, 4, 5, 3).tobytes()).hexdigest()


@real
@pytest.mark.parametrize("prefix", ["", "./"])
def test_the_archive_gives_the_same(tmp_path, prefix):
    """Members may come in any order; other members are skipped."""
    first, second, third = sorted(CARS.glob("*.mat"))[:3]
    with tarfile.open(tmp_path / "cars.tar.gz", "w:gz", compresslevel=1) as archive:
        for path in (third, first):
            archive.add(path, f"{prefix}data/cars/{path.name}")
        for other in ("data/cars/list.txt", "data/cars/._a.mat", "data/sprites/a.mat"):
            archive.addfile(tarfile.TarInfo(prefix + other), io.BytesIO())
        archive.add(second, f"{prefix}data/cars/{second.name}")
    blocks = list(official_cars.read_tar(tmp_path / "cars.tar.gz", 3, few_cars(3)))
    assert [block.shape for block in blocks] == [(72, 3, 64, 64)] * 4
    expected = official_cars.car(second.read_bytes(), second)
    pictures = np.concatenate(blocks).reshape(4, 24, 3, 3, 64, 64)
    assert np.array_equal(pictures[:, :, 1], expected)


@real
def test_other_cars_are_refused(tmp_path):
    one, two = sorted(CARS.glob("*.mat"))[:2]
    shutil.copy(one, tmp_path / two.name)
    shutil.copy(two, tmp_path / one.name)
    with pytest.raises(WrongInput, match="sha256") as error:
        official_cars.read_folder(tmp_path, 2, few_cars(2))
    assert str(tmp_path) in str(error.value)


@real
def test_a_part_of_the_folder_is_refused(tmp_path):
    some, cache = tmp_path / "some" / "cars", tmp_path / "cache"
    some.mkdir(parents=True)
    shutil.copy(CARS / "car_001_mesh.mat", some)
    with pytest.raises(WrongInput, match="1 files of cars") as error:
        cars3d.PUBLISHED["official"].take(some.parent, cache)
    assert str(some) in str(error.value)
    assert all(file.suffix == ".lock" for file in cache.rglob("*.*"))


def test_without_the_file_the_error_names_what_to_do(tmp_path):
    with pytest.raises(WrongInput, match=r"tolstoy data fetch cars3d.*look-alike"):
        cars3d.load(tmp_path)
    with pytest.raises(WrongInput, match=r"nips2015-analogy-data\.tar\.gz; or .*folder cars"):
        cars3d.PUBLISHED["official"].take(tmp_path, tmp_path / "cache")


def test_the_checksum_is_the_published_one():
    assert official_cars.CHECKSUM == PUBLISHED
    assert re.fullmatch("md5:[0-9a-f]{32}", cars3d.TAR.checksum)
