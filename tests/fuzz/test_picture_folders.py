"""The user's own pictures: folders, arrays and tables of factors, read into a cache."""

from __future__ import annotations

import io
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from PIL import Image

from data import own
from tests.data.own import samples
from tests.fuzz.cases import IN_TWO_SIZES, accepted, of_each, only_in, run
from tests.fuzz.mutations import edited, edits, names

FORMATS = ["png", "jpeg", "gif", "bmp", "tiff", "webp", "ppm", "tga"]
ENDINGS = [".png", ".jpg", ".gif", ".tif", ".webp", ".txt", "", ".PNG", ".\x1b[31m", ".\udcff"]
TABLES = [".npz", ".npy", ".h5", ".parquet", ".csv"]
MODES = ["L", "RGB", "RGBA", "P", "I;16", "1", "LA", "F"]


def encoded(format_: str, mode: str) -> bytes | None:
    """A small picture; None if the format has no such mode."""
    file = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (9, 7, 3), np.uint8)
    try:
        Image.fromarray(noise).convert(mode).save(file, format_)
    except (OSError, ValueError):
        return None
    return file.getvalue()


SOUND = [content for f in FORMATS for mode in MODES if (content := encoded(f, mode))]
ODD = [
    b"",
    b"\x00",
    b"GIF89a",
    b"%!PS-Adobe-3.0 EPSF-3.0",
    b"\x89PNG\r\n\x1a\n",
    b"P5 99999 99999 255 ",
]
ODD += [
    b"P6 1 1 255\n",
    b"BM" + b"\xff" * 60,
    b"II*\x00" + b"\xff" * 99,
    b"<svg/>",
    b"\x89HDF\r\n\x1a\n",
]
KINDS = ["file", "file", "file", "file", "fifo", "link", "folder", "loop", "outside", "device"]


@st.composite
def entries(draw: Any) -> list[tuple[str, str, bytes]]:
    """The name, kind and content of what is in a folder."""
    listed = []
    for _ in range(draw(st.integers(0, 4))):
        name = draw(names()).replace("/", "_").replace("\0", "_")[:60] or "x"
        content = draw(
            st.one_of(st.sampled_from(SOUND), st.sampled_from(SOUND), st.sampled_from(ODD))
        )
        if draw(st.integers(0, 2)) == 0:
            content = edited(content, draw(edits()))
        listed.append(
            (name + draw(st.sampled_from(ENDINGS)), draw(st.sampled_from(KINDS)), content)
        )
    return listed


def make(folder: Path, listed: list[tuple[str, str, bytes]]) -> None:
    folder.mkdir()
    for name, kind, content in listed:
        place = folder / name
        if name in (".", "..") or os.path.lexists(place):
            continue
        match kind:
            case "file":
                place.write_bytes(content)
            case "fifo":
                os.mkfifo(place)
            case "link":
                place.symlink_to(folder / "nothing\x1b[0m")
            case "folder":
                place.mkdir()
            case "loop":
                place.symlink_to(folder, target_is_directory=True)
            case "outside":
                place.symlink_to("/etc/passwd")
            case "device":
                place.symlink_to("/dev/zero")


def check(files: own.OwnFiles, base: Path) -> None:
    """Pictures that are accepted are 64x64 bytes, and only the cache is written."""
    cache = base / "cache"
    with only_in(cache), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Pillow's, about damaged tags
        loaded = accepted(lambda: own.load("mine", files, cache))
    if loaded is not None:
        assert loaded.pixels.shape[1:] == (loaded.channels, 64, 64) and len(loaded.pixels)
        assert len(loaded.factors) == len(loaded.pixels)
        for place, size in enumerate(loaded.factor_sizes):
            assert 0 <= loaded.factors[:, place].min() <= loaded.factors[:, place].max() < size
    assert not list(cache.glob("*.partial")) and not list(cache.glob("*.lock"))
    del loaded
    shutil.rmtree(cache, ignore_errors=True)


@IN_TWO_SIZES
def test_hostile_folders(cases: int, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"

    def one(listed: list[tuple[str, str, bytes]], skip: bool) -> None:
        make(folder, listed)
        try:
            check(own.OwnFiles(folder=str(folder), skip_broken=skip), tmp_path)
        finally:
            shutil.rmtree(folder)

    run(cases, one, listed=entries(), skip=st.booleans())


@of_each(TABLES)
def test_files_with_faults(cases: int, endings: tuple[str, ...], tmp_path: Path) -> None:
    """Pictures in one file, with factors in it or beside it."""
    sound = {}
    for ending in endings:
        path = tmp_path / f"own{ending}"
        if ending == ".csv":
            samples.write_table(path, samples.factors())
        else:
            samples.write(path, samples.pictures(side=4), samples.factors())
        sound[path] = path.read_bytes()
    images = samples.write(tmp_path / "images.npy", samples.pictures(side=4))

    def one(path: Path, changes: Any, beside: bool) -> None:
        path.write_bytes(edited(sound[path], changes))
        if beside or path.suffix == ".csv":
            check(own.OwnFiles(images=images, factors=str(path)), tmp_path)
        else:
            check(own.OwnFiles(images=str(path)), tmp_path)

    run(cases, one, path=st.sampled_from(sorted(sound)), changes=edits(), beside=st.booleans())


@pytest.mark.parametrize("name", ["~nobody-here/x", "a\0b", "a" * 300, "..", "/dev/zero", ""])
def test_paths_that_lead_nowhere(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for files in (own.OwnFiles(folder=name), own.OwnFiles(images=name)):
        check(files, tmp_path)
