"""Arrays of pictures: every format and shape gives the same pixels; malicious files are refused."""

import pickle
import resource
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from data import own
from data.own import OwnFiles, arrays
from infra.errors import WrongInput
from tests.data.own import samples

FORMATS = ("npy", "npz", "h5", "hdf5", "parquet")


def load(images, cache, factors=None):
    return own.load("mine", OwnFiles(str(images), factors and str(factors)), cache)


def refused(images, cache, message, factors=None):
    """Loading fails twice with this one-line message, and leaves nothing but locks in the cache."""
    for _ in range(2):
        with pytest.raises(WrongInput, match=message) as error:
            load(images, cache, factors)
        assert "\n" not in str(error.value)
    assert all(file.suffix == ".lock" for file in cache.glob("*"))


def save(file: Path, images) -> Path:
    np.save(file, images)
    return file


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_format_gives_the_same_pixels(tmp_path, ending, channels):
    images = samples.pictures(70, channels)  # more than are drawn at once
    samples.write(tmp_path / f"own.{ending}", images)
    loaded = load(tmp_path / f"own.{ending}", tmp_path / "cache")
    assert loaded.channels == channels
    assert np.array_equal(loaded.pixels, images.transpose(0, 3, 1, 2))
    assert loaded.factor_names == loaded.factor_sizes == ()
    assert loaded.factors.shape == (70, 0)


@pytest.mark.parametrize("ending", ["npz", "h5", "parquet"])
def test_factors_beside_the_images_are_used(tmp_path, ending):
    samples.write(tmp_path / f"own.{ending}", samples.pictures(), samples.factors())
    loaded = load(tmp_path / f"own.{ending}", tmp_path / "cache")
    assert loaded.factor_names == samples.NAMES
    assert loaded.factor_sizes == (3, 2)
    assert np.array_equal(loaded.factors, samples.factors() // [10, 1])


def test_the_content_is_the_same_in_every_format(tmp_path):
    for ending in ("npz", "h5", "parquet"):
        samples.write(tmp_path / f"own.{ending}", samples.pictures(), samples.factors())
    contents = {
        load(tmp_path / f"own.{ending}", tmp_path / "cache").content
        for ending in ("npz", "h5", "parquet")
    }
    assert len(contents) == 1


@pytest.mark.parametrize(
    ("ending", "rows"), [("npy", 1), ("npy", 5), ("npz", 5), ("h5", 5), ("h5", 12)]
)
def test_reading_a_few_rows_at_a_time_changes_nothing(tmp_path, monkeypatch, ending, rows):
    monkeypatch.setattr(arrays, "BLOCK", rows * 64 * 64 * 3)
    samples.write(tmp_path / f"own.{ending}", samples.pictures())
    loaded = load(tmp_path / f"own.{ending}", tmp_path / "cache")
    assert np.array_equal(loaded.pixels, samples.pictures().transpose(0, 3, 1, 2))


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_first_or_last(tmp_path, channels):
    images = samples.pictures(5, channels)
    last = load(save(tmp_path / "last.npy", images), tmp_path / "cache")
    first = load(save(tmp_path / "first.npy", images.transpose(0, 3, 1, 2).copy()), tmp_path / "c")
    assert np.array_equal(first.pixels, last.pixels)
    if channels == 1:
        without = load(save(tmp_path / "no.npy", images[..., 0]), tmp_path / "cache")
        assert np.array_equal(without.pixels, last.pixels)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4"])
def test_real_numbers_give_the_same_bytes(tmp_path, dtype):
    images = samples.pictures(4)
    loaded = load(save(tmp_path / "own.npy", (images / 255).astype(dtype)), tmp_path / "cache")
    assert np.array_equal(loaded.pixels, images.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("ending", ["npy", "npz", "h5"])
def test_truth_values_are_black_and_white(tmp_path, ending):
    images = samples.pictures(4, 1) > 99
    samples.write(tmp_path / f"own.{ending}", images)
    loaded = load(tmp_path / f"own.{ending}", tmp_path / "cache")
    assert np.array_equal(loaded.pixels, images.transpose(0, 3, 1, 2) * 255)


def test_column_major_order(tmp_path):
    images = np.asfortranarray(samples.pictures(5))
    loaded = load(save(tmp_path / "own.npy", images), tmp_path / "cache")
    assert np.array_equal(loaded.pixels, images.transpose(0, 3, 1, 2))
    np.savez(tmp_path / "own.npz", images=images)
    refused(tmp_path / "own.npz", tmp_path / "c", "column-major .*np.ascontiguousarray")


@pytest.mark.parametrize(
    ("channels", "shape", "dtype"),
    [
        (1, (100, 130), np.uint8),
        (3, (90, 64), np.uint8),
        (3, (64, 80), np.float64),
        (1, (20, 20), np.float64),
    ],
)
def test_other_sizes_are_cut_to_a_square_and_resized(tmp_path, channels, shape, dtype):
    images = samples.pictures(3, channels, 130)[:, : shape[0], : shape[1]]
    written = images if dtype == np.uint8 else images / 255
    loaded = load(save(tmp_path / "own.npy", written), tmp_path / "cache")
    side = min(shape)
    top, left = (shape[0] - side) // 2, (shape[1] - side) // 2
    for picture, pixels in zip(images, loaded.pixels, strict=True):
        square = Image.fromarray(picture[top : top + side, left : left + side].squeeze())
        expected = np.asarray(square.resize((64, 64), Image.Resampling.LANCZOS))
        assert np.array_equal(pixels.transpose(1, 2, 0).squeeze(), expected)


def test_the_images_may_be_the_only_array(tmp_path):
    np.savez(tmp_path / "own.npz", imgs=samples.pictures(), factors=samples.factors())
    loaded = load(tmp_path / "own.npz", tmp_path / "cache")
    assert np.array_equal(loaded.pixels, samples.pictures().transpose(0, 3, 1, 2))
    assert loaded.factor_sizes == (3, 2)
    np.savez(tmp_path / "own.npz", imgs=samples.pictures(), more=samples.factors())
    refused(tmp_path / "own.npz", tmp_path / "c", r"no images in own\.npz \(it holds imgs, more\)")


@pytest.mark.parametrize("column", ["image", "images"])
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), "struct"])
def test_encoded_pictures_in_a_column(tmp_path, column, kind):
    images = samples.pictures(130)
    cells = [samples.encoded(image) for image in images]
    if kind == "struct":  # as Hugging Face writes them
        kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        cells = [{"bytes": cell, "path": None} for cell in cells]
    table = pa.table({column: pa.array(cells, kind), "label": np.arange(130) % 2})
    pq.write_table(table, tmp_path / "own.parquet", row_group_size=50)
    loaded = load(tmp_path / "own.parquet", tmp_path / "cache")
    assert np.array_equal(loaded.pixels, images.transpose(0, 3, 1, 2))
    assert loaded.factor_names == ("label",)


def test_one_coloured_picture_makes_all_of_a_column_coloured(tmp_path):
    grey, coloured = samples.pictures(2, 1), samples.pictures(1, 3)
    cells = [samples.encoded(picture) for picture in [*grey, *coloured]]
    pq.write_table(pa.table({"image": cells}), tmp_path / "own.parquet")
    loaded = load(tmp_path / "own.parquet", tmp_path / "cache")
    assert loaded.channels == 3
    assert np.array_equal(loaded.pixels[0], np.repeat(grey[0].transpose(2, 0, 1), 3, axis=0))
    assert np.array_equal(loaded.pixels[2], coloured[0].transpose(2, 0, 1))


class Trap:
    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


def test_nothing_pickled_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trap = np.array([Trap(), Trap()], dtype=object)
    np.savez(tmp_path / "own.npz", images=trap)
    np.save(tmp_path / "own.npy", trap)
    (tmp_path / "bare.npy").write_bytes(pickle.dumps(Trap()))
    refused(tmp_path / "own.npz", tmp_path / "cache", "Python objects")
    refused(tmp_path / "own.npy", tmp_path / "cache", "Python objects")
    refused(tmp_path / "bare.npy", tmp_path / "cache", r"bare\.npy, which cannot be read")
    np.savez(tmp_path / "own.npz", images=samples.pictures(2), factors=trap)
    refused(tmp_path / "own.npz", tmp_path / "cache", "Python objects")
    np.savez(tmp_path / "own.npz", images=samples.pictures(2), factors=[1, 2], factor_names=trap)
    refused(tmp_path / "own.npz", tmp_path / "cache", "Python objects")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("ending", FORMATS)
def test_files_that_end_too_early(tmp_path, ending):
    file = tmp_path / f"own.{ending}"
    samples.write(file, samples.pictures())
    content = file.read_bytes()
    for size in (0, 10, len(content) // 2, 9 * len(content) // 10, len(content) - 1):
        file.write_bytes(content[:size])
        message = rf"data\.images: found own\.{ending}, which cannot be read"
        refused(file, tmp_path / "cache", message)


def test_a_flipped_bit_in_a_packed_array_is_noticed(tmp_path):
    file = tmp_path / "own.npz"
    np.savez(file, images=samples.pictures())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    refused(file, tmp_path / "cache", "Bad CRC-32")


def header(shape: tuple[int, ...]) -> bytes:
    text = str({"descr": "|u1", "fortran_order": False, "shape": shape}).encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize("count", [10**4, 10**12, 2**70, -5])
def test_a_huge_header_takes_no_memory(tmp_path, count):
    content = header((count, 64, 64)) + bytes(64 * 64 * 3)
    (tmp_path / "own.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "own.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", content)
    with h5py.File(tmp_path / "own.h5", "w") as file:
        shape = (min(abs(count), 2**60 // 64**2), 64, 64)
        file.create_dataset("images", shape, np.uint8, chunks=(1, 64, 64))
        file["images"][0] = 7
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(tmp_path / "own.npy", tmp_path / "cache", "12288 bytes for .*, which takes")
    refused(tmp_path / "own.npz", tmp_path / "cache", "12288 bytes for .*, which takes")
    if count > 10**4:
        refused(tmp_path / "own.h5", tmp_path / "cache", "4096 bytes for .*, which takes")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB


def test_an_archive_with_a_wrong_size_of_a_member_is_refused(tmp_path):
    """Its directory agrees with its header, so only reading shows that the data are too short."""
    claimed = 10**5 * 64 * 64 + 128
    with zipfile.ZipFile(tmp_path / "own.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", header((10**5, 64, 64)) + bytes(64 * 64 * 3))
        archive.getinfo("images.npy").file_size = claimed
    refused(tmp_path / "own.npz", tmp_path / "cache", "the file ends too early")


def test_hdf5_leads_to_no_other_file(tmp_path):
    samples.write(tmp_path / "other.h5", samples.pictures())
    with h5py.File(tmp_path / "own.h5", "w") as file:
        file["images"] = h5py.ExternalLink("other.h5", "images")
    refused(tmp_path / "own.h5", tmp_path / "cache", "no images in own.h5")
    with h5py.File(tmp_path / "own.h5", "w") as file:
        outside = [(str(tmp_path / "other.h5"), 0, 64 * 64)]
        file.create_dataset("images", (1, 64, 64), np.uint8, external=outside)
    refused(tmp_path / "own.h5", tmp_path / "cache", "outside the file")
    with h5py.File(tmp_path / "own.h5", "w") as file:
        layout = h5py.VirtualLayout((12, 64, 64, 3), np.uint8)
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "images", (12, 64, 64, 3))
        file.create_virtual_dataset("images", layout)
    refused(tmp_path / "own.h5", tmp_path / "cache", "outside the file")


@pytest.mark.parametrize(
    ("shape", "ending"),
    [
        ((), "npy"),
        ((64,), "npz"),
        ((64, 64), "h5"),
        ((0, 64, 64), "h5"),
        ((2, 0, 64), "npz"),
        ((2, 64, 64, 4), "npy"),
        ((2, 64, 64, 2), "npz"),
        ((2, 4, 64, 64), "h5"),
        ((3, 1, 5, 3), "npy"),
        ((2, 3, 3, 3), "npy"),
        ((2, 2, 64, 64, 3), "npz"),
    ],
)
def test_other_shapes_are_refused(tmp_path, shape, ending):
    if ending == "h5":
        with h5py.File(tmp_path / "own.h5", "w") as file:
            file["images"] = np.zeros(shape, np.uint8)
    else:
        samples.write(tmp_path / f"own.{ending}", np.zeros(shape, np.uint8))
    refused(
        tmp_path / f"own.{ending}", tmp_path / "cache", r"found shape \(.*accepted: \(n, h, w\)"
    )


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16", "complex64", "M8[s]", "U3", "S3"])
def test_other_types_are_refused(tmp_path, dtype):
    file = save(tmp_path / "own.npy", np.ones((2, 64, 64), np.uint8).astype(dtype))
    refused(file, tmp_path / "cache", "accepted: uint8, bool, or real numbers")


@pytest.mark.parametrize(
    ("value", "rows"),
    [(1.001, 3), (-0.001, 3), (np.nan, 3), (np.nan, 1000), (np.inf, 1000), (255, 1000)],
)
def test_real_numbers_outside_are_named_with_the_first_row(tmp_path, monkeypatch, value, rows):
    monkeypatch.setattr(arrays, "BLOCK", rows * 64 * 64 * 8)
    images = np.zeros((12, 64, 64))
    images[7, 3, 4] = images[9, 0, 0] = value
    file = save(tmp_path / "own.npy", images)
    refused(file, tmp_path / "cache", f"found {float(value)} in row 7;")


def test_bytes_of_zero_and_one_are_refused(tmp_path):
    file = save(tmp_path / "own.npy", (samples.pictures() > 99).astype(np.uint8))
    refused(file, tmp_path / "cache", r"uint8 numbers of at most 1 in own\.npy.*images > 0")


def test_other_endings_and_columns_are_refused(tmp_path):
    (tmp_path / "own.zip").write_bytes(b"")
    refused(tmp_path / "own.zip", tmp_path / "cache", r"found 'own\.zip'; accepted: .*\.npz")
    pq.write_table(pa.table({"picture": [b"a"]}), tmp_path / "own.parquet")
    refused(tmp_path / "own.parquet", tmp_path / "cache", r"no image in .*it holds picture")
    pq.write_table(pa.table({"image": [[1, 2]]}), tmp_path / "own.parquet")
    refused(tmp_path / "own.parquet", tmp_path / "cache", r"image of type list<.*encoded pictures")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (None, "found nothing in row 2"),
        (b"", "row 2, which cannot be read .no picture"),
        (b"GIF89a", "row 2, which cannot be read"),
        (samples.encoded(samples.pictures()[0])[:900], "row 2, which cannot be read"),
    ],
)
def test_cells_that_are_no_picture_are_named(tmp_path, cell, message):
    good = samples.encoded(samples.pictures()[0])
    pq.write_table(pa.table({"image": [good, good, cell, good]}), tmp_path / "own.parquet")
    refused(tmp_path / "own.parquet", tmp_path / "cache", message)


def test_a_file_without_rows_is_refused(tmp_path):
    pq.write_table(pa.table({"image": pa.array([], pa.binary())}), tmp_path / "own.parquet")
    refused(tmp_path / "own.parquet", tmp_path / "cache", "no pictures in own.parquet")


def test_all_broken_pictures_of_a_parquet_file_are_named(tmp_path):
    encoded = [samples.encoded(image) for image in samples.pictures(70)]
    encoded[3], encoded[66] = encoded[3][:200], b"none"
    pq.write_table(pa.table({"image": encoded}), tmp_path / "own.parquet")
    refused(tmp_path / "own.parquet", tmp_path / "cache", r"2 pictures .*: row 66 \(.*; row 3 \(")
