"""A user's own data: prepared once, whole or not at all, and sampled as the table says."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from data import own
from data.base.continuous import equal_bins
from data.own import OwnFiles, copies
from infra.errors import WrongInput
from tests.data.own import samples

ROOT = Path(__file__).parents[3]

LOAD = """if True:
    import os, pathlib, signal, sys
    from data import own
    progress = []
    def tell(done):
        progress.append(done)
        if sys.argv[3:] and done >= float(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
    print("ready", flush=True)
    sys.stdin.readline()
    loaded = own.load("mine", own.OwnFiles(sys.argv[1]), pathlib.Path(sys.argv[2]), tell)
    print("prepared" if progress else "waited", loaded.content)
    """

DIE = """if True:
    import os, pathlib, signal
    rename = pathlib.Path.replace
    def replace(self, target):
        if target.name.endswith(".MOMENT"):
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, target)
    pathlib.Path.replace = replace
"""


def process(*arguments: object, code: str = LOAD) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def start_together(*started: subprocess.Popen) -> list[str]:
    """Start the work of all processes at the same moment; returns what they printed."""
    for child in started:
        assert child.stdout.readline() == "ready\n"
    for child in started:
        child.stdin.write("\n")
        child.stdin.flush()
    return [child.communicate(timeout=60)[0] for child in started]


@pytest.fixture
def images(tmp_path):
    return samples.write(tmp_path / "own.npz", samples.pictures(), samples.factors())


def load(images, cache, **more):
    return own.load("mine", OwnFiles(str(images), **more), cache)


def not_again(fraction):
    pytest.fail("it was prepared again")


def test_own_data_have_their_description_and_pixels(images, tmp_path):
    loaded = load(images, tmp_path / "cache")
    assert (loaded.name, loaded.source, loaded.channels) == ("mine", "user", 3)
    assert loaded.factor_names == samples.NAMES
    assert loaded.factor_sizes == (3, 2)
    assert len(loaded.content) == 16
    assert np.array_equal(loaded.pixels, samples.pictures().transpose(0, 3, 1, 2))
    assert np.array_equal(loaded.factors, samples.factors() // [10, 1])


def test_later_loads_map_what_is_there(images, tmp_path):
    first = load(images, tmp_path / "cache")
    again = own.load("mine", OwnFiles(images), tmp_path / "cache", not_again)
    assert again.content == first.content
    assert np.array_equal(again.pixels, first.pixels)
    assert not again.pixels.flags.owndata
    assert not again.factors.flags.owndata


def test_content_is_of_what_is_inside_not_of_where(images, tmp_path):
    first = load(images, tmp_path / "cache").content
    (tmp_path / "elsewhere").mkdir()
    moved = samples.write(tmp_path / "elsewhere/a.h5", samples.pictures(), samples.factors())
    assert load(moved, tmp_path / "cache").content == first
    assert load(moved, tmp_path / "cache2").content == first


def one_pixel(pixels, table):
    pixels[3, 4, 5, 0] ^= 1


def one_label(pixels, table):
    table[0, 1] = 1


def one_value(pixels, table):
    table[table[:, 0] == 20, 0] = 21  # the positions on the scale stay the same


@pytest.mark.parametrize("change", [one_pixel, one_label, one_value])
def test_changed_files_are_prepared_anew(images, tmp_path, change):
    before = load(images, tmp_path / "cache")
    pixels, table = samples.pictures(), samples.factors()
    change(pixels, table)
    samples.write(Path(images), pixels, table)
    after = load(images, tmp_path / "cache")
    assert after.content != before.content
    assert np.array_equal(after.pixels, pixels.transpose(0, 3, 1, 2))
    assert np.array_equal(before.pixels, samples.pictures().transpose(0, 3, 1, 2))


def test_equal_sizes_and_times_are_not_taken_for_equal_files(tmp_path):
    loaded = []
    for name, images in (("a.npy", samples.pictures()), ("b.npy", 255 - samples.pictures())):
        samples.write(tmp_path / name, images)
        os.utime(tmp_path / name, (1, 1))
        loaded.append(load(tmp_path / name, tmp_path / "cache"))
    assert loaded[0].content != loaded[1].content


def test_other_names_are_other_content(images, tmp_path):
    before = load(images, tmp_path / "cache").content
    np.savez(images, images=samples.pictures(), factors=samples.factors())
    renamed = load(images, tmp_path / "cache")
    assert renamed.factor_names == ("factor_0", "factor_1")
    assert renamed.content != before


def test_files_that_change_while_they_are_read_are_refused(images, tmp_path):
    def change(fraction):
        os.utime(images, (1, 1))

    with pytest.raises(WrongInput, match="changed while they were read"):
        own.load("mine", OwnFiles(images), tmp_path / "cache", change)
    assert not [file for file in (tmp_path / "cache").iterdir() if file.suffix != ".lock"]


@pytest.mark.parametrize("ending", ["facts", "pixels", "factors"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_damaged_files_are_prepared_again(images, tmp_path, ending, damage):
    good = load(images, tmp_path / "cache")
    (file,) = (tmp_path / "cache").glob(f"*.{ending}")
    content = bytearray(file.read_bytes())
    file.unlink()
    if damage != "gone":
        content[len(content) // 2] ^= 1
        file.write_bytes(content[:-9] if damage == "cut" else content)
    again = load(images, tmp_path / "cache")
    assert again.content == good.content
    assert np.array_equal(again.pixels, samples.pictures().transpose(0, 3, 1, 2))
    assert np.array_equal(again.factors, samples.factors() // [10, 1])


@pytest.mark.parametrize("moment", ["pixels", "factors", "facts"])
def test_a_killed_process_leaves_no_file_that_is_used(images, tmp_path, moment):
    """The process is killed right before one of the three files gets its name."""
    killed = process(images, tmp_path / "cache", code=DIE.replace("MOMENT", moment) + LOAD)
    start_together(killed)
    assert killed.returncode == -signal.SIGKILL
    assert not list((tmp_path / "cache").glob("*.facts"))
    assert list((tmp_path / "cache").glob("*.partial"))
    loaded = load(images, tmp_path / "cache")
    assert np.array_equal(loaded.pixels, samples.pictures().transpose(0, 3, 1, 2))
    assert np.array_equal(loaded.factors, samples.factors() // [10, 1])
    assert not list((tmp_path / "cache").glob("*.partial"))


def test_a_process_killed_amid_the_pixels(tmp_path):
    many = samples.write(tmp_path / "many.npy", samples.pictures(4000))
    killed = process(many, tmp_path / "cache", 0.3)
    start_together(killed)
    assert killed.returncode == -signal.SIGKILL
    (half,) = (tmp_path / "cache").glob("*.pixels.*.partial")
    assert 0 < half.stat().st_size < 4000 * 64 * 64 * 3
    loaded = load(many, tmp_path / "cache")
    assert np.array_equal(loaded.pixels, samples.pictures(4000).transpose(0, 3, 1, 2))


def test_two_processes_at_once_prepare_once(images, tmp_path):
    answers = start_together(*(process(images, tmp_path / "cache") for _ in range(2)))
    assert sorted(answer.split()[0] for answer in answers) == ["prepared", "waited"]
    assert len({answer.split()[1] for answer in answers}) == 1


def test_a_damaged_file_leaves_no_file_that_is_used(images, tmp_path):
    content = Path(images).read_bytes()
    Path(images).write_bytes(content[: len(content) // 2])
    for _ in range(2):
        with pytest.raises(WrongInput, match=r"data\.images: .*own\.npz"):
            load(images, tmp_path / "cache")
    assert all(file.suffix == ".lock" for file in (tmp_path / "cache").iterdir())
    Path(images).write_bytes(content)
    load(images, tmp_path / "cache")


@pytest.mark.parametrize("which", ["images", "factors", "folder"])
def test_missing_files_are_named(images, tmp_path, which):
    places = {"images": images, which: str(tmp_path / "not-there.npz")}
    if which == "folder":
        del places["images"]
    with pytest.raises(WrongInput, match=rf"data\.{which}: found no not-there\.npz in "):
        own.load("mine", OwnFiles(**places), tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_folder_is_no_file_nor_a_file_a_folder(images, tmp_path):
    with pytest.raises(WrongInput, match=r"data\.images: found .*, a folder; accepted: a file"):
        load(tmp_path, tmp_path / "cache")
    with pytest.raises(WrongInput, match=r"data\.folder: found own\.npz, a file; .*: a folder"):
        own.load("mine", OwnFiles(folder=images), tmp_path / "cache")


def test_a_cache_that_cannot_be_created_is_refused_in_one_line(images, tmp_path):
    with pytest.raises(WrongInput, match="TOLSTOY_DATA"):
        load(images, Path(images) / "cache")


def test_a_cache_can_be_copied(images, tmp_path):
    """The stored files hold neither the name of this machine nor paths on it."""
    load(images, tmp_path / "cache")
    shutil.copytree(tmp_path / "cache", tmp_path / "copy")
    own.load("mine", OwnFiles(images), tmp_path / "copy", not_again)
    (facts,) = (tmp_path / "copy").glob("*.facts")
    assert str(tmp_path) not in facts.read_text()
    assert json.loads(facts.read_text().split("\n")[1])["count"] == 12


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = """if True:
        import sys
        from data import own
        heavy = {"h5py", "pyarrow", "PIL", "pandas", "numba", "torch"} & set(sys.modules)
        assert not heavy, heavy
        """
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_continuous_factors_are_bins_with_their_values(tmp_path):
    pictures = samples.pictures(40)
    angle = np.random.default_rng(0).uniform(0, 360, 40)
    table = np.column_stack([np.arange(40) % 3, angle])
    file = samples.write(tmp_path / "own.npz", pictures, table)
    for _ in range(2):  # prepared, then read from the cache
        loaded = own.load("mine", own.OwnFiles(file), tmp_path / "cache")
        assert (loaded.continuous, loaded.factor_sizes) == ((1,), (3, 10))
        np.testing.assert_array_equal(loaded.factors[:, 0], table[:, 0])
        np.testing.assert_array_equal(loaded.factors[:, 1], equal_bins(angle))
        np.testing.assert_array_equal(loaded.targets(np.arange(40)), table)
    (real,) = (tmp_path / "cache").glob("*.real")
    real.write_bytes(real.read_bytes()[:-9])
    again = own.load("mine", own.OwnFiles(file), tmp_path / "cache")
    np.testing.assert_array_equal(again.targets(np.arange(40))[:, 1], angle)
    assert again.content == loaded.content
    discrete = np.column_stack([table[:, 0], angle.round()])
    other = samples.write(tmp_path / "other.npz", pictures, discrete)
    assert own.load("mine", own.OwnFiles(other), tmp_path / "cache").content != loaded.content


def test_columns_of_words_are_categorical_also_where_an_older_version_prepared_them(tmp_path):
    file = samples.write(tmp_path / "own.npz", samples.pictures(12))
    table = tmp_path / "factors.csv"
    rows = [f"{'abc'[i % 3]},{i % 2},{str(i % 4 < 2).lower()}" for i in range(12)]
    table.write_text("\n".join(["animal,size,grown", *rows]))
    files, cache = own.OwnFiles(file, str(table)), tmp_path / "cache"
    loaded = own.load("mine", files, cache)
    assert (loaded.categorical, loaded.periodic) == (("animal",), ())
    (facts,) = cache.glob("*.facts")
    older = copies.read_facts(facts)
    del older["categorical"]
    facts.write_bytes(copies.with_checksum(older))
    (pixels,) = cache.glob("*.pixels")
    before = pixels.stat().st_mtime_ns
    again = own.load("mine", files, cache)
    assert (again.categorical, again.content) == (("animal",), loaded.content)
    assert pixels.stat().st_mtime_ns == before, "pictures are not drawn again"
