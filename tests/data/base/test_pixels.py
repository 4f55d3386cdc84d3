"""The file of pictures: what damages it is noticed, and a machine holds it in memory once."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.base import pixels

ROOT = Path(__file__).parents[3]
SHAPE = (50, 3, 64, 64)  # more than nine blocks of the checksum, and a rest


@pytest.fixture
def pictures() -> pixels.Pixels:
    return np.random.default_rng(0).integers(0, 256, size=SHAPE, dtype=np.uint8)


@pytest.fixture
def file(tmp_path, pictures) -> Path:
    pixels.prepared(tmp_path / "file", SHAPE, lambda: np.split(pictures, [7, 7, 31]))
    return tmp_path / "file"


def test_a_file_gives_back_what_went_in(file, pictures):
    progress = []
    again = pixels.prepared(file, SHAPE, lambda: pytest.fail("written again"), progress.append)
    assert np.array_equal(again, pictures) and progress == []
    assert not again.flags.writeable


@given(sizes=st.lists(st.integers(0, 200_000), max_size=6), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=30)
def test_the_checksum_does_not_depend_on_the_blocks(sizes, seed):
    content = np.random.default_rng(seed).integers(0, 256, size=sum(sizes), dtype=np.uint8)
    whole, parts = pixels._Sum(), pixels._Sum()
    whole.add(content)
    for part in np.split(content, np.cumsum(sizes)[:-1]) if sizes else []:
        parts.add(part)
    assert whole.digest() == parts.digest()


def swap_blocks(content: bytearray) -> None:
    content[: 2**16], content[2**16 : 2**17] = content[2**16 : 2**17], content[: 2**16]


def flip(place: int):
    def damage(content: bytearray) -> None:
        content[place] ^= 1

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        swap_blocks,
        flip(0),
        flip(123_457),
        flip(-9),
        flip(-1),
        lambda c: c.pop(),
        lambda c: c.clear(),
    ],
)
def test_damage_is_noticed_and_mended(file, pictures, damage):
    content = bytearray(file.read_bytes())
    damage(content)
    file.write_bytes(content)
    assert not pixels.seems_whole(file, SHAPE) and not pixels.is_whole(file)
    assert np.array_equal(pixels.prepared(file, SHAPE, lambda: [pictures]), pictures)
    assert pixels.is_whole(file)


def test_a_large_file_is_judged_by_its_size_when_opened(file, monkeypatch):
    content = bytearray(file.read_bytes())
    flip(5)(content)
    file.write_bytes(content)
    monkeypatch.setattr(pixels, "CHECKED_WHEN_OPENED", 1000)
    assert pixels.seems_whole(file, SHAPE) and not pixels.is_whole(file)


@pytest.mark.parametrize(
    "blocks",
    [
        lambda p: [p[:-1]],
        lambda p: [p, p[:1]],
        lambda p: [p.astype(np.float32)],
        lambda p: [p[:, :1]],
    ],
)
def test_pictures_that_do_not_fit_leave_nothing(tmp_path, pictures, blocks):
    with pytest.raises(ValueError, match="block"):
        pixels.prepared(tmp_path / "file", SHAPE, lambda: blocks(pictures))
    assert [path.name for path in tmp_path.iterdir()] == []


def test_floats_are_the_bytes_divided_by_255(pictures):
    places = np.array([3, 3, 49, 0])
    images = pixels.as_floats(pictures, places)
    assert images.dtype == np.float32 and images.flags.c_contiguous
    assert np.array_equal(images, pictures[places] / np.float32(255))
    assert np.array_equal(pixels.as_floats(pictures[:, :1], places), images[:, :1])


CHILD = """if True:
    import pathlib, re, sys
    from data.base import pixels
    array = pixels.mapped(pathlib.Path(sys.argv[1]), eval(sys.argv[2]))
    array.sum()
    print("read", flush=True)
    input()
    inside, sizes = False, {}
    for line in open("/proc/self/smaps"):
        if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.rstrip().endswith(sys.argv[1])
        elif inside and line.endswith("kB\\n"):
            name, size = line.split(":")
            sizes[name] = sizes.get(name, 0) + int(size.split()[0])
    print(sizes["Rss"], sizes["Pss"], sizes["Private_Dirty"] + sizes["Private_Clean"])
    """


@pytest.mark.skipif(
    not Path("/proc/self/smaps").exists(), reason="Linux tells how memory is shared"
)
def test_however_many_processes_there_is_one_copy_in_memory(tmp_path):
    shape = (500, 3, 64, 64)
    file = tmp_path / "shared"
    pixels.prepared(file, shape, lambda: [np.ones(shape, np.uint8)])
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(file), str(shape)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for child in children:
        assert child.stdout.readline() == "read\n"
    size = file.stat().st_size / 1024
    resident, share, private = map(int, children[0].communicate("\n")[0].split())
    for child in children[1:]:  # they have been there until now
        child.communicate("\n")
    assert resident >= 0.99 * size
    assert share <= 0.4 * size, "a third of the memory counts for each of three"
    assert private <= 0.01 * size
