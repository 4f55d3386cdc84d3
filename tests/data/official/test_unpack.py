"""Wrong, truncated and malicious files are refused on one line and leave no file behind."""

import gzip
import io
import pickle
import re
import struct
import tarfile
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from data.base import pixels
from data.official import cars3d as official_cars
from data.official import smallnorb as official_norb
from data.official.shrink import shrunk
from data.official.unpack import channels_first, hdf5_blocks, npz_blocks
from infra.errors import WrongInput

SHAPE = (20, 64, 64, 3)
PICTURES = np.random.default_rng(0).integers(256, size=SHAPE, dtype=np.uint8)


class Trap:
    """Unpickling it creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def read_npz(path):
    return npz_blocks(path, "images", SHAPE, rows=8)


def read_hdf5(path):
    return hdf5_blocks(path, "images", SHAPE, rows=8)


def read_norb(path):
    return official_norb.matrix(path, "uint8", SHAPE, rows=8)


def read_tar(path):
    return official_cars.read_tar(path, objects=2)


def refused(read, path: Path, *words: str) -> None:
    """Making a ready file of it fails on one line that names the file, and leaves no file."""
    folder = path.parent / "cache"
    shape = (20, 64 * 64 * 3)
    with pytest.raises(WrongInput) as error:
        pixels.prepared(
            folder / "ready", shape, lambda: (b.reshape(len(b), -1) for b in read(path))
        )
    line = str(error.value)
    assert "\n" not in line
    for word in (str(path), *words):
        assert word in line
    assert [file.name for file in folder.iterdir()] == []


def check_good(read, path: Path) -> None:
    blocks = list(read(path))
    assert [len(block) for block in blocks] == [8, 8, 4]
    assert np.array_equal(np.concatenate(blocks).reshape(SHAPE), PICTURES)
    flat = [block.reshape(len(block), -1) for block in blocks]
    stored = pixels.prepared(path.parent / "cache" / "ready", (20, flat[0].shape[1]), lambda: flat)
    assert np.array_equal(stored.reshape(SHAPE), PICTURES)


def npy(array, version=(1, 0)) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


def zipped(path: Path, member: bytes, key="images", compression=zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(f"{key}.npy", member)
    return path


def announced(shape, dtype="|u1") -> bytes:
    """A header without data."""
    file = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_good_npz_is_read(tmp_path, compression):
    check_good(read_npz, zipped(tmp_path / "good.npz", npy(PICTURES), compression=compression))


@pytest.mark.parametrize(
    ("member", "word"),
    [
        (npy(PICTURES.astype(np.int32)), "int32"),
        (npy(PICTURES[:, :, :, 0]), "(20, 64, 64)"),
        (npy(PICTURES[:19]), "(19, 64, 64, 3)"),
        (npy(np.asfortranarray(PICTURES)), "Fortran"),
        (npy(PICTURES, (2, 0)), "version (2, 0)"),
        (npy(PICTURES)[:-1], "245759 bytes for (20, 64, 64, 3)"),
        (npy(PICTURES) + b"x", "245761 bytes for (20, 64, 64, 3)"),
        (announced((10**9, 64, 64, 3)), "(1000000000, 64, 64, 3)"),  # the size of a zip bomb
        (announced((20, 64, 64, 10**15)), "1000000000000000"),
        (announced(SHAPE, "|O"), "object"),
        (b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65_535, "65535"),
        (b"not an array", "magic"),
        (b"", "EOF"),
    ],
)
def test_a_wrong_npz_is_refused(tmp_path, member, word):
    refused(read_npz, zipped(tmp_path / "bad.npz", member), word)
    check_good(read_npz, zipped(tmp_path / "good.npz", npy(PICTURES)))


def test_an_npz_without_the_key(tmp_path):
    refused(read_npz, zipped(tmp_path / "bad.npz", npy(PICTURES), key="imgs"), "imgs", "images")


def test_a_damaged_npz_is_refused(tmp_path):
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = zipped(tmp_path / "bad.npz", npy(PICTURES), compression=compression)
        good = path.read_bytes()
        path.write_bytes(good[:-2000])
        refused(read_npz, path)
        path.write_bytes(good[:90_000] + bytes([good[90_000] ^ 1]) + good[90_001:])
        refused(read_npz, path)
    path.write_bytes(b"")
    refused(read_npz, path)


@pytest.mark.parametrize("as_member", [True, False])
def test_a_pickle_is_never_executed(tmp_path, as_member):
    trap, path = tmp_path / "executed", tmp_path / "bad.npz"
    if as_member:
        np.savez(path, images=np.array([Trap(trap)] * 20, dtype=object))
    else:
        zipped(path, pickle.dumps(Trap(trap)))
    refused(read_npz, path)
    assert not trap.exists()
    with np.load(path, allow_pickle=True) as archive:  # the trap works
        content = archive["images"]
        if isinstance(content, bytes):
            pickle.loads(content)
    assert trap.exists()


@pytest.mark.parametrize("chunks", [None, (1, 64, 64, 3), (7, 16, 16, 1)])
def test_a_good_hdf5_is_read(tmp_path, chunks):
    with h5py.File(tmp_path / "good.h5", "w") as file:
        compression = "gzip" if chunks else None
        file.create_dataset("images", data=PICTURES, chunks=chunks, compression=compression)
    check_good(read_hdf5, tmp_path / "good.h5")


def test_a_wrong_hdf5_is_refused(tmp_path):
    path = tmp_path / "bad.h5"
    with h5py.File(path, "w") as file:
        file["imgs"] = PICTURES
    refused(read_hdf5, path, "imgs", "images")
    for wrong in (PICTURES[:19], PICTURES.astype(np.float32), PICTURES[None]):
        with h5py.File(path, "w") as file:
            file["images"] = wrong
        refused(read_hdf5, path, str(wrong.dtype), str(wrong.shape))
    with h5py.File(path, "w") as file:
        file.create_group("images")
    refused(read_hdf5, path)
    with h5py.File(path, "w") as file:
        file["images"] = PICTURES
    path.write_bytes(path.read_bytes()[:-5000])
    refused(read_hdf5, path, "truncated")
    path.write_bytes(b"not an HDF5 file")
    refused(read_hdf5, path)


def test_an_hdf5_file_reads_no_other_file(tmp_path):
    """A chunk as large as the memory is refused as well."""
    other, path = tmp_path / "other.h5", tmp_path / "bad.h5"
    with h5py.File(other, "w") as file:
        file["images"] = PICTURES
    raw = tmp_path / "raw"
    raw.write_bytes(PICTURES.tobytes())
    virtual = h5py.VirtualLayout(SHAPE, np.uint8)
    virtual[:] = h5py.VirtualSource(other, "images", SHAPE)
    huge = (20, 64, 64, 3 * 2**13)

    def write_huge(file):
        file.create_dataset("images", huge, np.uint8, chunks=huge)

    for write in (
        lambda file: file.__setitem__("images", h5py.ExternalLink(str(other), "images")),
        lambda file: file.create_dataset(
            "images", SHAPE, np.uint8, external=[(str(raw), 0, PICTURES.nbytes)]
        ),
        lambda file: file.create_virtual_dataset("images", virtual),
    ):
        with h5py.File(path, "w") as file:
            write(file)
        with h5py.File(path) as file:
            assert np.array_equal(file["images"][:], PICTURES)  # the trap works
        refused(read_hdf5, path)
    with h5py.File(path, "w") as file:
        write_huge(file)
    with pytest.raises(WrongInput, match="chunks"):
        next(hdf5_blocks(path, "images", huge, rows=1))


CONTENT = PICTURES.tobytes()


def norb(magic=0x1E3D4C55, dimensions=4, sizes=SHAPE, content=CONTENT) -> bytes:
    return struct.pack(f"<{2 + len(sizes)}i", magic, dimensions, *sizes) + content


@pytest.mark.parametrize("name", ["good.mat", "good.mat.gz"])
def test_a_good_norb_file_is_read(tmp_path, name):
    content = norb()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    check_good(read_norb, tmp_path / name)


def test_norb_matrices_have_at_least_three_sizes(tmp_path):
    path = tmp_path / "good.mat"
    path.write_bytes(norb(0x1E3D4C54, 1, (2, 1, 1), struct.pack("<2i", 7, -1)))
    (block,) = official_norb.matrix(path, "int32", (2,))
    assert block.view("<i4").tolist() == [7, -1]


@pytest.mark.parametrize("name", ["bad.mat", "bad.mat.gz"])
@pytest.mark.parametrize(
    ("content", "word"),
    [
        (norb(magic=0x1E3D4C51), "0x1e3d4c51"),
        (norb(magic=0x1E3D4C54), "int32"),
        (norb(dimensions=3), "3 dimensions"),
        (norb(dimensions=2**31 - 1), "2147483647"),
        (norb(dimensions=-4), "-4 dimensions"),
        (norb(sizes=(2**31 - 1, 64, 64, 3)), "2147483647"),
        (norb(sizes=(-20, 64, 64, 3)), "-20"),
        (norb(sizes=(20, 64, 3, 64)), "(20, 64, 3, 64)"),
        (norb(content=PICTURES.tobytes()[:-1]), ""),
        (norb(content=PICTURES.tobytes() + b"x"), ""),
        (norb()[:6], ""),
        (b"", ""),
    ],
)
def test_wrong_norb_headers_are_refused(tmp_path, name, content, word):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    refused(read_norb, path, word)


def test_a_damaged_gzip_is_refused(tmp_path):
    path = tmp_path / "bad.mat.gz"
    good = gzip.compress(norb())
    path.write_bytes(good[:-9])
    refused(read_norb, path)
    path.write_bytes(good[:5000] + bytes([good[5000] ^ 1]) + good[5001:])
    refused(read_norb, path)
    path.write_bytes(norb())
    refused(read_norb, path, "gzip")


def mat(**arrays) -> bytes:
    file = io.BytesIO()
    savemat(file, arrays, do_compression=True)
    return file.getvalue()


CAR = np.random.default_rng(1).integers(256, size=(128, 128, 3, 24, 4), dtype=np.uint8)
MAT = mat(im=CAR)


def tar(path: Path, *members: tuple[str, bytes | tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in members:
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                archive.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo()
    info.type, info.linkname = kind, target
    return info


def test_a_car_is_shrunk_and_in_order():
    car = official_cars.car(MAT, Path("a.mat"))
    assert car.shape == (4, 24, 3, 64, 64)
    assert np.array_equal(car[3, 5], shrunk(CAR[None, :, :, :, 5, 3])[0])


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (mat(image=CAR[:1]), "image"),
        (mat(im=CAR[:1]), "(1, 128, 3, 24, 4)"),
        (mat(im=CAR.astype(np.int8)), "int8"),
        (mat(im=np.array([{"a": 1}], dtype=object)), "cell"),
        (MAT[:100_000], ""),
        (MAT[:50_000] + bytes(8) + MAT[50_008:], ""),
        (b"MATLAB 7.3" + bytes(114) + b"\x00\x02IM" + bytes(100), "v7.3"),
        (b"", ""),
    ],
)
def test_wrong_cars_are_refused(tmp_path, content, word):
    path = tmp_path / "a.mat"
    refused(lambda _: iter([official_cars.car(content, path)]), path, word)


@pytest.mark.parametrize(
    "member",
    [
        ("../escaped.mat", b""),
        ("data/cars/../../escaped.mat", b""),
        ("/escaped.mat", b""),
        ("data/cars/b.mat", special(tarfile.SYMTYPE, "/etc/passwd")),
        ("data/cars/b.mat", special(tarfile.LNKTYPE, "data/cars/a.mat")),
        ("data/cars/b.mat", special(tarfile.FIFOTYPE)),
        ("data/cars/b.mat", special(tarfile.CHRTYPE)),
    ],
)
def test_unsafe_members_are_refused(tmp_path, member):
    path = tar(tmp_path / "bad.tar.gz", ("data/cars/a.mat", MAT), member)
    refused(read_tar, path, re.sub(r".*(?=escaped)", "", member[0]))
    assert not list(tmp_path.rglob("escaped*"))


def test_tars_with_wrong_cars_are_refused(tmp_path):
    a, b, path = ("data/cars/a.mat", MAT), ("data/cars/b.mat", MAT), tmp_path / "bad.tar.gz"
    refused(read_tar, tar(path, a), "1 files")
    refused(read_tar, tar(path, a, a), "a.mat")
    refused(read_tar, tar(path, a, b, ("data/cars/c.mat", MAT)), "c.mat", "number 3")
    refused(read_tar, tar(path, a, ("data/cars/b.mat", bytes(2**23 + 1))), "b.mat", "8388609")
    refused(read_tar, tar(path, a, ("data/cars/b.mat", mat(car=CAR[:1]))), "b.mat", "the key im")
    refused(read_tar, tar(path, a, b), "sha256")
    path.write_bytes(path.read_bytes()[:-100_000])
    refused(read_tar, path)


def test_channels_come_first():
    (block,) = channels_first(iter([PICTURES]))
    assert block.shape == (20, 3, 64, 64)
    assert block.flags.c_contiguous
    assert np.array_equal(block[:, 2], PICTURES[:, :, :, 2])


def test_a_picture_of_64_pixels_stays_as_it_is():
    assert np.array_equal(shrunk(PICTURES), PICTURES.transpose(0, 3, 1, 2))
    assert np.array_equal(shrunk(PICTURES[..., 0]), PICTURES[:, None, :, :, 0])
