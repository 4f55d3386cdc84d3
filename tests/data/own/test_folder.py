"""Folders of pictures of any kind: what is drawn, in which order, and what is refused."""

import io
import os
import socket
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data import own
from data.base import pictures
from data.own import OwnFiles
from data.own.folder import find
from infra.errors import WrongInput
from tests.data.own import samples

GRADIENT = np.add.outer(2 * np.arange(64), 2 * np.arange(64)).astype(np.uint8)  # all below 255
COLOURS = np.stack([GRADIENT, GRADIENT.T[::-1], 255 - GRADIENT], axis=2)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def load(folder, progress=None, skip_broken=False):
    files = OwnFiles(folder=str(folder), skip_broken=skip_broken)
    return own.load("mine", files, folder.parent / "cache", progress)


def refused(folder, message):
    for _ in range(2):
        with pytest.raises(WrongInput, match=message) as error:
            load(folder)
        assert "\n" not in str(error.value)
    assert all(file.suffix == ".lock" for file in (folder.parent / "cache").glob("*"))


def save(file: Path, picture: np.ndarray, **how) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture.squeeze()).save(file, **how)


def test_pictures_keep_their_pixels_in_the_order_of_their_paths(folder):
    images = samples.pictures(150)
    names = [f"{row % 3}/{row % 2}/{row:03}.png" for row in range(150)]
    for name, image in reversed(list(zip(names, images, strict=True))):
        save(folder / name, image)
    loaded = load(folder)
    order = np.argsort(names)
    assert loaded.channels == 3
    assert loaded.factor_names == ()
    assert np.array_equal(loaded.pixels, images[order].transpose(0, 3, 1, 2))


def test_the_content_is_that_of_the_same_array(folder, tmp_path):
    images = samples.pictures(5)
    for row, image in enumerate(images):
        save(folder / f"{row}.png", image)
    array = samples.write(tmp_path / "own.npy", images)
    assert load(folder).content == own.load("x", OwnFiles(array), tmp_path / "cache").content


def test_only_visible_pictures_count(folder):
    save(folder / "a.png", COLOURS)
    save(folder / "B.JPG", COLOURS, format="jpeg")
    save(folder / ".hidden.png", COLOURS)
    save(folder / ".hidden/c.png", COLOURS)
    save(folder / "deep/.thumbnails/c.png", COLOURS)
    for name in ("labels.csv", "readme", "data.h5", "figure.eps", "clip.mpg", "paper.pdf"):
        (folder / name).write_bytes(b"no picture")
    assert [file.name for file in find(folder)] == ["B.JPG", "a.png"]
    assert load(folder).pixels.shape == (2, 3, 64, 64)


def test_a_hidden_folder_may_be_chosen(tmp_path):
    save(tmp_path / ".mine/a.png", COLOURS)
    assert len(find(tmp_path / ".mine")) == 1


def test_linked_folders_count_once(folder, tmp_path):
    save(tmp_path / "elsewhere/a.png", COLOURS)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "second").symlink_to(tmp_path / "elsewhere")
    (folder / "around").symlink_to(folder)
    assert find(folder) == [folder / "link" / "a.png"]


def test_a_new_picture_is_noticed(folder):
    save(folder / "a.png", COLOURS)
    before = load(folder)
    again = load(folder, lambda fraction: pytest.fail("it was prepared again"))
    assert again.content == before.content
    save(folder / "b.png", COLOURS)
    assert len(load(folder).pixels) == 2
    os.utime(folder / "b.png", (1, 1))
    progress = []
    load(folder, progress.append)
    assert progress[-1] == 1


def test_progress_is_told(folder):
    for row in range(2 * pictures.AT_ONCE + 1):
        save(folder / f"{row}.bmp", GRADIENT)
    progress = []
    load(folder, progress.append)
    assert progress == sorted(progress)
    assert len(progress) == 3
    assert progress[-1] == 1


def loaded_pixels(folder, image: Image.Image, ending: str = "png", **how) -> np.ndarray:
    """What a single picture becomes: (64, 64) if it is grey, else (64, 64, 3)."""
    for old in folder.iterdir():
        old.unlink()
    image.save(folder / f"a.{ending}", **how)
    return load(folder).pixels[0].transpose(1, 2, 0).squeeze()


def test_every_mode_of_pictures_is_read(folder):
    grey, coloured = Image.fromarray(GRADIENT), Image.fromarray(COLOURS)
    assert np.array_equal(loaded_pixels(folder, grey), GRADIENT)
    assert np.array_equal(loaded_pixels(folder, coloured), COLOURS)
    assert np.array_equal(
        loaded_pixels(folder, grey.point(lambda v: 255 * (v > 99), "1")), 255 * (GRADIENT > 99)
    )
    indexed = coloured.quantize(16)
    assert np.array_equal(loaded_pixels(folder, indexed), np.asarray(indexed.convert("RGB")))
    assert np.array_equal(loaded_pixels(folder, indexed, "gif"), np.asarray(indexed.convert("RGB")))
    inks = coloured.convert("CMYK")
    assert np.array_equal(loaded_pixels(folder, inks, "tif"), np.asarray(inks.convert("RGB")))


@pytest.mark.parametrize("ending", ["png", "tif", "pgm"])
def test_sixteen_bits_become_eight(folder, ending):
    deep = GRADIENT.astype(np.uint16) * 257
    assert np.array_equal(loaded_pixels(folder, Image.fromarray(deep), ending), GRADIENT)
    assert loaded_pixels(folder, Image.fromarray(deep + 128), ending)[5, 5] == GRADIENT[5, 5]
    assert loaded_pixels(folder, Image.fromarray(deep + 129), ending)[5, 5] == GRADIENT[5, 5] + 1


def test_real_numbers(folder):
    exact = loaded_pixels(folder, Image.fromarray((GRADIENT / 255).astype(np.float32)), "tif")
    assert np.array_equal(exact, GRADIENT)
    with pytest.raises(WrongInput, match=r"a\.tif, which cannot be read .real numbers outside"):
        loaded_pixels(folder, Image.fromarray(GRADIENT.astype(np.float32)), "tif")


def test_what_is_transparent_is_black(folder):
    alpha = np.tile(np.array([0, 85, 255, 255], np.uint8), (64, 16))
    expected = np.rint(COLOURS * (alpha[..., None] / 255))
    image = Image.fromarray(np.dstack([COLOURS, alpha]))
    for ending, how in (("png", {}), ("webp", {"lossless": True, "exact": True})):
        assert np.abs(loaded_pixels(folder, image, ending, **how) - expected).max() <= 1
    grey = Image.merge("LA", [Image.fromarray(GRADIENT), Image.fromarray(alpha)])
    pixels = loaded_pixels(folder, grey)
    assert pixels.shape == (64, 64)
    assert np.abs(pixels - np.rint(GRADIENT * (alpha / 255))).max() <= 1


def test_a_transparent_colour_is_black(folder):
    flat = np.full((64, 64), 200, np.uint8)
    flat[:, :20] = 100
    expected = np.where(flat == 100, 0, flat)
    assert np.array_equal(loaded_pixels(folder, Image.fromarray(flat), transparency=100), expected)
    coloured = Image.fromarray(np.dstack([flat] * 3))
    pixels = loaded_pixels(folder, coloured, transparency=(100, 100, 100))
    assert np.array_equal(pixels, np.dstack([expected] * 3))
    indexed = coloured.quantize(2)
    background = indexed.getpixel((0, 0))
    assert np.array_equal(
        loaded_pixels(folder, indexed, transparency=background), np.dstack([expected] * 3)
    )
    sharp = Image.fromarray(flat).point(lambda v: 255 * (v > 150), "1")
    assert not loaded_pixels(folder, sharp, transparency=1).any()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_are_upright(folder, orientation):
    turns = {1: (0, 0), 2: (0, 1), 3: (2, 0), 4: (2, 1), 5: (3, 1), 6: (3, 0), 7: (1, 1), 8: (1, 0)}
    tags = Image.Exif()
    tags[0x0112] = orientation
    quarters, mirrored = turns[orientation]
    upright = np.rot90(COLOURS, quarters)
    if mirrored:
        upright = upright[:, ::-1]
    assert np.array_equal(loaded_pixels(folder, Image.fromarray(COLOURS), exif=tags), upright)


@pytest.mark.parametrize("size", [(200, 100), (100, 201), (64, 90), (1, 1), (30, 31), (3, 1000)])
def test_the_middle_square_is_resized(folder, size):
    stream = np.random.default_rng(0)
    image = Image.fromarray(stream.integers(0, 256, (size[1], size[0], 3), np.uint8))
    side = min(size)
    left, top = (size[0] - side) // 2, (size[1] - side) // 2
    square = image.crop((left, top, left + side, top + side))
    expected = np.asarray(square.resize((64, 64), Image.Resampling.LANCZOS))
    assert np.array_equal(loaded_pixels(folder, image), expected)


def test_one_coloured_picture_makes_all_coloured(folder):
    for name in "acd":
        save(folder / f"{name}.png", GRADIENT)
    assert load(folder).pixels.shape == (3, 1, 64, 64)
    save(folder / "b.png", COLOURS)
    loaded = load(folder).pixels
    assert np.array_equal(loaded[1].transpose(1, 2, 0), COLOURS)
    assert np.array_equal(loaded[0], np.stack([GRADIENT] * 3))


def test_a_folder_without_pictures_is_refused(folder):
    refused(folder, r"data\.folder: found no picture in .*folder; accepted: ")
    (folder / "notes.txt").write_text("none")
    refused(folder, "no picture in")


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "bmp", "webp", "tif"])
@pytest.mark.parametrize("left", [0, 20, 0.6])
def test_damaged_pictures_are_named(folder, ending, left):
    for row in range(3):
        save(folder / f"{row}.png", COLOURS)
    file = folder / "deep" / f"bad.{ending}"
    save(file, samples.pictures(1)[0])
    content = file.read_bytes()
    file.write_bytes(content[: int(left * len(content)) if left < 1 else left])
    refused(folder, rf"data\.folder: found deep/bad\.{ending}, which cannot be read \(")


def test_other_things_with_the_name_of_a_picture(folder):
    (folder / "bad.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    refused(folder, r"bad\.png, which cannot be read \(no picture\)")
    (folder / "bad.png").unlink()
    (folder / "gone.png").symlink_to("nowhere.png")
    refused(
        folder, r"data\.folder: found gone\.png, .* \(No such file .*: a link to nowhere\.png\)"
    )
    (folder / "gone.png").unlink()
    (folder / "a folder.png").mkdir()
    refused(folder, "no picture in")


def huge(width: int, height: int) -> bytes:
    """A PNG that announces this size and holds nothing."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("side", [10_000, 50_000])
def test_decompression_bombs_are_refused(folder, side):
    (folder / "bomb.png").write_bytes(huge(side, side))
    refused(folder, r"data\.folder: found bomb\.png.*accepted: pictures of at most 89478485 pixels")


def test_a_file_name_that_is_no_text_is_refused(folder):
    file = os.fsencode(folder) + b"/\xff \xfe.png"
    try:
        Path(os.fsdecode(file)).write_bytes(b"no picture")
    except OSError:
        pytest.skip("this file system takes text alone")
    with pytest.raises(WrongInput, match=r"\.png, which cannot be read") as error:
        load(folder)
    str(error.value).encode()  # it can be printed


def test_the_first_frame_counts(folder):
    frames = [Image.fromarray(GRADIENT), Image.fromarray(GRADIENT.T[::-1].copy())]
    file = io.BytesIO()
    frames[0].save(file, "tiff", save_all=True, append_images=frames[1:])
    (folder / "a.tif").write_bytes(file.getvalue())
    assert np.array_equal(load(folder).pixels[0, 0], GRADIENT)


def broken(folder):
    """A folder of 70 pictures with 13 others that cannot be read, each for its reason."""
    for row, image in enumerate(samples.pictures(70)):
        save(folder / f"{row:02}.png", image)
    for row in range(9):
        (folder / f"no-{row}.png").write_bytes(b"none")
    whole = (folder / "00.png").read_bytes()
    (folder / "half.png").write_bytes(whole[: len(whole) // 2])  # only its header is good
    (folder / "link.jpg").symlink_to("/nowhere/at all.jpg")
    os.mkfifo(folder / "pipe.jpg")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(folder / "socket.jpg"))


def test_all_broken_pictures_are_named_at_once(folder):
    broken(folder)
    with pytest.raises(WrongInput) as error:
        load(folder)
    message = str(error.value)
    assert message.startswith("data.folder: found 13 pictures that cannot be read: ")
    assert "link.jpg (No such file or directory: a link to /nowhere/at all.jpg); " in message
    assert "no-0.png (no picture); " in message and "; and 3 more; accepted: " in message
    assert message.endswith("or skip_broken: true, which leaves others out")
    for row in range(9):
        (folder / f"no-{row}.png").unlink()
    refused(
        folder, r"half\.png \(.*pipe\.jpg \(a pipe, a socket or a device\)|socket\.jpg \(a pipe"
    )


def test_broken_pictures_can_be_left_out(folder, tmp_path):
    broken(folder)
    progress = []
    loaded = load(folder, progress.append, skip_broken=True)
    assert np.array_equal(loaded.pixels, samples.pictures(70).transpose(0, 3, 1, 2))
    assert (loaded.skipped, loaded.ignored) == (13, {})
    assert progress == sorted(progress) and progress[-1] == 1
    for file in [*folder.glob("*.jpg"), *folder.glob("[nh]*.png")]:
        file.unlink()
    assert load(folder).content == loaded.content
    assert load(folder, skip_broken=True).skipped == 0
    for file in folder.glob("*.png"):
        file.write_bytes(b"none")
    with pytest.raises(WrongInput, match=r"70 pictures in .*, of which none can be read"):
        load(folder, skip_broken=True)


def test_a_broken_coloured_picture_does_not_colour_the_others(folder):
    save(folder / "grey.png", GRADIENT)
    save(folder / "half.png", samples.pictures(1)[0])
    content = (folder / "half.png").read_bytes()
    (folder / "half.png").write_bytes(content[: len(content) // 2])
    assert load(folder, skip_broken=True).pixels.shape == (1, 1, 64, 64)


def test_files_that_are_no_pictures_are_counted(folder):
    save(folder / "deep/a.png", COLOURS)
    names = (".DS_Store", "Thumbs.db", "a.HEIC", "deep/b.heic", "deep/notes", ".git/config")
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"no picture")
    os.mkfifo(folder / "pipe")
    counts = {".heic": 2, "no ending": 2, ".db": 1, "hidden": 1}
    assert list(load(folder).ignored.items()) == list(counts.items())


def test_pictures_of_which_something_is_transparent_are_counted(folder):
    alpha = np.full((64, 64, 1), 255, np.uint8)
    save(folder / "opaque.png", np.dstack([COLOURS, alpha]))
    alpha[5, 5] = 254
    for picture in (COLOURS, GRADIENT):
        save(folder / f"{picture.ndim}.png", np.dstack([picture, alpha]))
    save(folder / "colour.png", GRADIENT, transparency=int(GRADIENT[9, 9]))
    save(folder / "unused.png", GRADIENT, transparency=255)
    save(folder / "deep.png", GRADIENT.astype(np.uint16) * 257, transparency=0)
    assert load(folder).transparent == 3
    assert load(folder, skip_broken=True).transparent == 3


def test_a_folder_written_in_two_ways_has_one_copy(folder, tmp_path):
    save(folder / "deep/a.png", COLOURS)
    (tmp_path / "link").symlink_to(folder)
    before = load(folder)
    for other in (folder / "deep/..", tmp_path / "link", tmp_path / "link/../folder"):
        files = OwnFiles(folder=str(other))
        again = own.load("mine", files, tmp_path / "cache", lambda _: pytest.fail("made again"))
        assert again.content == before.content
    assert len(list((tmp_path / "cache").glob("*.pixels"))) == 1


def test_a_pipe_is_not_waited_for(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    save(folder / "a.png", COLOURS)
    images = samples.write(tmp_path / "own.npz", samples.pictures())
    for files in (OwnFiles(str(tmp_path / "pipe.npz")), OwnFiles(images, f"{tmp_path}/pipe.npz")):
        with pytest.raises(
            WrongInput, match=r"found pipe\.npz, a pipe, a .*; accepted: a file that"
        ):
            own.load("mine", files, tmp_path / "cache")
