"""What holds for every data set, and what naming one costs."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import data
from data import scene, teapots
from data.base.cache import folder
from data.base.protocol import SOURCES, HasSplits, sample_factors
from data.official.painting import THE_SCREAM
from infra.errors import WrongInput
from tests.data.teapots_of import few_teapots

ROOT = Path(__file__).parents[2]
LOCATELLO_2019 = [
    "dsprites",
    "color_dsprites",
    "noisy_dsprites",
    "scream_dsprites",
    "smallnorb",
    "cars3d",
    "shapes3d",
]
NEED_NO_DOWNLOAD = [
    (name, source)
    for name in data.DATA_SETS
    for source in data.sources(name)
    if source not in data.published_files(name)
]


@pytest.mark.parametrize("name", data.DATA_SETS)
def test_the_data_set_has_its_description(name):
    described = data.describe(name)
    assert described.name == name
    assert described.source == data.sources(name)[0]
    assert set(data.published_files(name)) <= set(data.sources(name)) <= set(SOURCES) - {"user"}
    assert set(data.files(name)) <= set(data.sources(name))
    assert described.channels in (1, 3)
    assert len(described.factor_names) == len(described.factor_sizes)
    assert len(set(described.factor_names)) == len(described.factor_names)
    assert all(size > 1 for size in described.factor_sizes)
    with_a_kind = [*described.categorical, *described.periodic]
    assert set(with_a_kind) <= set(described.factor_names)
    assert len(set(with_a_kind)) == len(with_a_kind), "a factor has one kind"


def test_the_kinds_of_factors():
    dsprites = data.describe("dsprites")
    for name in ("dsprites", "color_dsprites", "noisy_dsprites", "scream_dsprites"):
        described = data.describe(name)
        assert (described.categorical, described.periodic) == (("shape",), ("orientation",))
        assert described.factor_sizes == dsprites.factor_sizes
    assert data.describe("shapes3d").periodic == ("floor_hue", "wall_hue", "object_hue")
    assert data.describe("cars3d").categorical == ("object",)
    assert data.describe("cars3d").periodic == data.describe("smallnorb").periodic == ("azimuth",)
    assert data.describe("smallnorb").categorical == ("category", "lighting")
    assert data.describe("mpi3d_real") == replace(
        data.describe("mpi3d_toy"), name="mpi3d_real", source="official"
    )


@pytest.mark.parametrize("name", LOCATELLO_2019)
def test_each_data_set_of_the_study_of_2019_has_a_source_that_needs_no_download(name):
    assert name in {name for name, _ in NEED_NO_DOWNLOAD}


@pytest.mark.parametrize("name", data.DATA_SETS)
def test_every_published_file_has_an_address_and_a_checksum(name):
    for published in data.published_files(name).values():
        for file in published.files:
            assert file.urls and all(url.startswith(("http://", "https://")) for url in file.urls)
            # no checksum is published of these: their readers check sizes, ranges, proportions
            if file not in (*THE_SCREAM.files, teapots.FILE):
                assert re.fullmatch("md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", file.checksum)


@pytest.mark.parametrize(("name", "source"), NEED_NO_DOWNLOAD)
def test_a_data_set_is_as_described(name, source, cache, tmp_path, monkeypatch):
    """Look-alikes are rendered once per machine: it takes half a minute."""
    place = folder() if source == "look-alike" else cache
    if name == "teapots":
        few_teapots(monkeypatch, 300)
        place = tmp_path
    if name == "scene":
        monkeypatch.setattr(scene, "DESCRIPTION", replace(scene.DESCRIPTION, pictures=300))
        place = tmp_path
    described, loaded = data.describe(name, source), data.load(name, source, place)
    for field, value in vars(described).items():
        assert getattr(loaded, field) == value
    assert described.has_splits == isinstance(loaded, HasSplits)
    stream = np.random.default_rng(0)
    points = loaded.sample(20, stream)
    assert points.shape == (20, len(described.factor_names)) and points.dtype == np.int64
    assert ((points >= 0) & (points < described.factor_sizes)).all()
    images = loaded.images(points, stream)
    assert images.shape == (20, described.channels, 64, 64)
    assert images.dtype == np.float32
    assert images.flags.c_contiguous
    assert images.min() >= 0
    assert images.max() <= 1


def test_describing_imports_nothing_slow_and_opens_no_file():
    code = """if True:
        import sys, data
        assert "numpy" not in sys.modules, "naming the data sets imports numpy"
        for name in data.DATA_SETS:
            data.describe(name)
        slow = {"numba", "torch", "scipy", "PIL", "h5py", "ray", "prefect"} & set(sys.modules)
        assert not slow, f"describing imports {slow}"
        opened = []
        sys.addaudithook(lambda event, what: event == "open" and opened.append(what[0]))
        for name in data.DATA_SETS:
            data.describe(name)
        assert not opened, f"describing opens {opened}"
        """
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(WrongInput, match=r"dsprite2.*color_dsprites"):
        data.load("dsprite2", "redrawn", Path())
    with pytest.raises(WrongInput, match="dsprite2"):
        data.describe("dsprite2")


def test_sampled_factors_are_uniform_and_independent():
    sizes = (2, 3, 4)
    factors = sample_factors(sizes, 24_000, np.random.default_rng(0))
    assert factors.shape == (24_000, 3)
    assert factors.dtype == np.int64
    cells = np.zeros(sizes)
    np.add.at(cells, tuple(factors.T), 1)
    chi_square = ((cells - 1000) ** 2 / 1000).sum()
    assert 5 < chi_square < 60  # 23 degrees of freedom: outside once in 40,000 streams


def test_sampled_factors_follow_the_stream():
    draw = [sample_factors((5, 7), 50, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert np.array_equal(draw[0], draw[1])
    assert not np.array_equal(draw[0], draw[2])
