"""Reads Cars3D: a .tar.gz of 183 MATLAB files, or the folder that was unpacked from it.

Every file holds the pictures of one car. Nothing is extracted to the disk: members are read into
memory, one by one, and only those with the expected names.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from data.base.pixels import SIDE, Pixels
from data.official.shrink import shrunk
from data.official.unpack import reading
from infra.errors import WrongInput

OBJECTS, ELEVATIONS, AZIMUTHS = 183, 4, 24
MAT_SHAPE = (128, 128, 3, AZIMUTHS, ELEVATIONS)
LARGEST_MAT = 2**23  # bytes: ten times the usual

# sha256 of all pictures, elevation by azimuth by object, with the channels last
CHECKSUM = "e2c0e4e82583baf4981591763a36168898e127b9afa03447f0139ad7c7dc6400"
MEMBER = re.compile(r"(?:\./)?data/cars/(\w[\w-]*\.mat)")

Mats = dict[str, bytes]


def read_tar(path: Path, objects: int = OBJECTS, checksum: str = CHECKSUM) -> Iterator[Pixels]:
    """All pictures in the grid's order, in blocks of one elevation."""
    mats: Mats = {}
    with reading(path), tarfile.open(path, "r|gz") as archive:
        for member in archive:
            _refuse_unsafe(member, path)
            if member.isreg() and (match := MEMBER.fullmatch(member.name)):
                if member.size > LARGEST_MAT or match[1] in mats or len(mats) == objects:
                    raise WrongInput(
                        str(path),
                        f"{member.name} of {member.size} bytes as number {len(mats) + 1}",
                        f"{objects} different files of at most {LARGEST_MAT} bytes",
                    )
                opened = archive.extractfile(member)
                mats[match[1]] = opened.read() if opened else b""
    return _pictures(mats, path, objects, checksum)


def _refuse_unsafe(member: tarfile.TarInfo, path: Path) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
        raise WrongInput(
            str(path), f"the member {member.name}", "files and folders inside, no links or devices"
        )


def read_folder(path: Path, objects: int = OBJECTS, checksum: str = CHECKSUM) -> Iterator[Pixels]:
    """The same from the folder `cars`; the checksum of its pictures is compared."""
    mats: Mats = {}
    for file in sorted(path.glob("*.mat")):
        with reading(file):
            if not file.is_file() or file.stat().st_size > LARGEST_MAT or len(mats) == objects:
                accepted = f"{objects} files of at most {LARGEST_MAT} bytes in this folder"
                raise WrongInput(str(file), f"file number {len(mats) + 1}", accepted)
            mats[file.name] = file.read_bytes()
    return _pictures(mats, path, objects, checksum)


def _pictures(mats: Mats, origin: Path, objects: int, checksum: str) -> Iterator[Pixels]:
    """All cars are in memory at once, as every block of the grid needs all of them."""
    from concurrent.futures import ThreadPoolExecutor

    if len(mats) != objects:
        raise WrongInput(str(origin), f"{len(mats)} files of cars", f"{objects} files")
    pictures = np.empty((ELEVATIONS, AZIMUTHS, objects, 3, SIDE, SIDE), np.uint8)

    def fill(place: int, name: str) -> None:
        pictures[:, :, place] = car(mats.pop(name), origin / name)

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        # the files are in the order of their names, as in the archive's list.txt
        list(threads.map(fill, range(objects), sorted(mats)))
    digest = hashlib.sha256()
    for elevation in pictures:
        digest.update(np.ascontiguousarray(elevation.transpose(0, 1, 3, 4, 2)).data)
    if digest.hexdigest() != checksum:
        raise WrongInput(
            str(origin), f"pictures with sha256 {digest.hexdigest()}", f"the official {checksum}"
        )
    return (elevation.reshape(-1, 3, SIDE, SIDE) for elevation in pictures)


def car(content: bytes, origin: Path) -> Pixels:
    """One car of a MATLAB file, from its bytes: (4, 24, 3, 64, 64)."""
    from scipy.io import loadmat, whosmat

    with reading(origin):
        arrays = {name: (shape, kind) for name, shape, kind in whosmat(io.BytesIO(content))}
        if arrays.get("im") != (MAT_SHAPE, "uint8"):
            array_or_keys = arrays.get("im", f"the keys {', '.join(arrays)}")
            raise WrongInput(str(origin), array_or_keys, f"the key im, uint8 {MAT_SHAPE}")
        image = loadmat(io.BytesIO(content), variable_names=["im"])["im"]
        pictures = np.ascontiguousarray(image.transpose(4, 3, 0, 1, 2))
        small = shrunk(pictures.reshape(-1, *pictures.shape[2:]))
    return small.reshape(ELEVATIONS, AZIMUTHS, 3, SIDE, SIDE)
