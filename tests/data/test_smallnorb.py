"""SmallNORB's rows are put into the grid's order, and every picture shows a fresh instance."""

import gzip
import itertools
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data import smallnorb
from data.official import smallnorb as official_norb
from data.official.smallnorb import TESTING, TRAINING
from infra.errors import WrongInput

FORMATS = Path(__file__).parents[3] / "shared" / "data" / "formats"
GRID = (2, 4, 2, 3, 2)  # the structure of the real one
HALF = 48
POINTS = np.array(list(itertools.product(*map(range, GRID))))
IN_TRAINING = np.isin(POINTS[:, 1], (1, 3))  # each half has its own instances


def matrix(array: np.ndarray) -> bytes:
    sizes = (*array.shape, 1, 1)[: max(3, array.ndim)]
    magic = 0x1E3D4C55 if array.dtype == np.uint8 else 0x1E3D4C54
    return struct.pack(f"<{2 + len(sizes)}i", magic, array.ndim, *sizes) + array.tobytes()


def grey(points: np.ndarray) -> np.ndarray:
    """A brightness of its own for each point of the grid."""
    return 2 * np.ravel_multi_index(tuple(points.T), GRID)


@pytest.fixture
def write(tmp_path):
    """Writes the six files; `change` may spoil the points (category, instance, ...) before."""

    def write_all(change=lambda points: points, azimuth_step=2):
        stream, files = np.random.default_rng(0), {}
        for part, chosen in ((TRAINING, IN_TRAINING), (TESTING, ~IN_TRAINING)):
            points = stream.permutation(POINTS[chosen])
            pictures = np.empty((HALF, 2, 96, 96), np.uint8)
            pictures[:, 0] = grey(points)[:, None, None]
            pictures[:, 1] = 255  # the other camera
            points = change(points.copy())
            points[:, 3] *= azimuth_step
            arrays = {
                "dat": pictures,
                "cat": points[:, 0].astype("<i4"),
                "info": points[:, 1:].astype("<i4"),
            }
            for kind, array in arrays.items():
                name = part.format(kind) + ".gz"
                files[name] = tmp_path / name
                files[name].write_bytes(gzip.compress(matrix(array), 1))
        return files

    return write_all


def test_the_rows_are_sorted_into_the_grid(write):
    pictures = np.concatenate(list(official_norb.read(write(), GRID)))
    assert pictures.shape == (2 * HALF, 1, 64, 64)
    expected = np.broadcast_to(2 * np.arange(2 * HALF)[:, None, None, None], pictures.shape)
    assert np.array_equal(pictures, expected)


def twice(points):
    points[0] = points[1]
    return points


def too_far(points):
    points[0, 2] = GRID[2]
    return points


def negative(points):
    points[0, 1] = -1
    return points


@pytest.mark.parametrize(
    ("change", "step", "word"),
    [
        (twice, 2, "different"),
        (too_far, 2, "outside"),
        (negative, 2, "outside"),
        (lambda points: points, 1, "odd"),
    ],
)
def test_labels_that_are_no_grid_are_refused(write, change, step, word):
    files = write(change, step)
    with pytest.raises(WrongInput, match=word) as error:
        list(official_norb.read(files, GRID))
    assert str(files[TRAINING.format("info") + ".gz"]) in str(error.value)


@pytest.mark.skipif(not FORMATS.is_dir(), reason=f"needs the tiny files in {FORMATS}")
def test_tiny_files_of_the_true_format():
    for part in (TRAINING, TESTING):
        path = FORMATS / part.format("dat")
        (pictures,) = official_norb.first_camera(path, 5)
        raw = np.frombuffer(path.read_bytes()[-5 * 2 * 96 * 96 :], np.uint8)
        picture = Image.fromarray(raw.reshape(5, 2, 96, 96)[3, 0])
        small = picture.resize((64, 64), Image.Resampling.LANCZOS)
        assert np.array_equal(pictures[3, 0], np.asarray(small))
    labels = official_norb.labels(
        {kind: FORMATS / TRAINING.format(kind) for kind in ("cat", "info")}, 5
    )
    assert labels.tolist() == [  # category, instance, elevation, halved azimuth, lighting
        [0, 1, 8, 4, 0],
        [0, 1, 1, 11, 2],
        [2, 2, 0, 16, 2],
        [1, 1, 4, 13, 5],
        [2, 0, 5, 4, 1],
    ]


@pytest.fixture(scope="module")
def labelled():
    """A data set whose pictures show their place: the first two pixels are its digits."""
    places = np.arange(48_600)
    pixels = np.zeros((48_600, 1, 64, 64), np.uint8)
    pixels[:, 0, 0, 0], pixels[:, 0, 0, 1] = places // 256, places % 256
    return smallnorb.SmallNORB(**vars(smallnorb.DESCRIPTION), pixels=pixels)


def shown(data_set, factors, seed):
    """(n, 5): the point that each picture shows."""
    images = data_set.images(factors, np.random.default_rng(seed))
    assert images.shape == (len(factors), 1, 64, 64)
    digits = np.rint(images[:, 0, 0, :2] * 255).astype(int)
    return np.stack(np.unravel_index(256 * digits[:, 0] + digits[:, 1], smallnorb.GRID), axis=1)


def test_the_instance_is_fresh_and_comes_from_the_stream(labelled):
    factors = np.tile([[4, 8, 17, 5]], (5000, 1))
    points = shown(labelled, factors, 1)
    assert np.array_equal(np.delete(points, 1, axis=1), factors)
    counts = np.bincount(points[:, 1], minlength=10)
    assert counts.min() > 400
    assert counts.max() < 600
    assert np.array_equal(points, shown(labelled, factors, 1))
    assert not np.array_equal(points, shown(labelled, factors, 2))
    stream = np.random.default_rng(1)
    first = labelled.images(factors[:64], stream)
    assert not np.array_equal(first, labelled.images(factors[:64], stream))


def test_the_factors_find_the_picture(labelled):
    factors = labelled.sample(500, np.random.default_rng(0))
    points = shown(labelled, factors, 0)
    assert np.array_equal(np.delete(points, 1, axis=1), factors)
    with pytest.raises(ValueError, match="invalid"):
        labelled.images(np.array([[0, 9, 0, 0]]), np.random.default_rng(0))


def test_without_the_files_the_error_names_what_to_do(tmp_path):
    with pytest.raises(WrongInput, match=r"tolstoy data fetch smallnorb.*look-alike"):
        smallnorb.load(tmp_path)
    with pytest.raises(WrongInput, match=r"no smallnorb-5x46789x9x18x6x2x96x96-training-dat"):
        smallnorb.PUBLISHED["official"].take(tmp_path, tmp_path / "cache")
