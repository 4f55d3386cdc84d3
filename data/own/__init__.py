"""A user's own data: an array of pictures with or without a table of factors, or a folder.

The first load prepares three files in the cache, which later loads map:

- the pictures as 64x64 pixels
- the factors as positions in the sorted order of their values; where some are continuous, a fourth
  file has the values of those
- the facts, written last: without them the other two files are not used

Their names hold a hash of the user's files (paths, sizes and times), so that files that changed
are prepared again. A fifth file, `origin`, says for people where they are (data.own.copies). A hash
of pictures and factors is the `content` of the data set.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from data.base import cache as data_cache
from data.base import pixels
from data.base.continuous import BINS, equal_bins
from data.base.pictures import Pictures
from data.base.pixels import SIDE, Pixels, Progress
from data.base.protocol import Factors, Targets
from data.own import copies, factors
from data.own.data_set import OwnDataSet
from data.own.files import OwnFiles, fingerprint
from infra.errors import WrongInput

__all__ = ["OwnDataSet", "OwnFiles", "load"]

HASHED_AT_ONCE = 2**10  # pictures


def load(name: str, files: OwnFiles, cache: Path, progress: Progress | None = None) -> OwnDataSet:
    """The data set, prepared in the folder `cache` if it is not there or the files changed."""
    hash_of_files = fingerprint(files)
    prepared = _Prepared(cache / f"{copies.START}{hash_of_files}")

    def write(file: BinaryIO) -> None:
        facts = _prepare(files, prepared, progress)
        if fingerprint(files) != hash_of_files:
            prepared.remove()
            accepted = "files that do not change while they are read"
            raise WrongInput("data", "files that changed while they were read", accepted)
        copies.write_origin(prepared.origin, files)
        file.write(copies.with_checksum(facts))

    data_cache.prepare(prepared.facts, lambda _: prepared.is_whole(), write)
    return prepared.data_set(name)


class _Prepared:
    """The files of one data set in the cache."""

    def __init__(self, start: Path) -> None:
        self.facts = start.with_name(f"{start.name}.facts")
        self.pixels = start.with_name(f"{start.name}.pixels")
        self.factors = start.with_name(f"{start.name}.factors")
        self.real = start.with_name(f"{start.name}.real")
        self.origin = start.with_name(f"{start.name}.origin")

    def is_whole(self) -> bool:
        """Whether all files that the facts describe are there and undamaged."""
        facts = copies.read_facts(self.facts)
        if facts is None or "categorical" not in facts:  # older versions did not write it
            return False
        if not pixels.seems_whole(self.pixels, _pixels_shape(facts)):
            return False
        if facts["names"] and not pixels.seems_whole(self.factors, _factors_shape(facts)):
            return False
        return not _continuous(facts) or pixels.seems_whole(self.real, _real_shape(facts))

    def data_set(self, name: str) -> OwnDataSet:
        """The data set, with its files mapped."""
        facts = copies.read_facts(self.facts)
        if facts is None:
            raise WrongInput(
                "data cache", f"{self.facts}, which is damaged", "a disk that keeps files"
            )
        factors: Factors = np.empty((facts["count"], 0), np.int64)
        if facts["names"]:
            factors = pixels.mapped(self.factors, _factors_shape(facts)).view(np.int64)[..., 0]
        real: Targets = np.empty((facts["count"], 0))
        if continuous := _continuous(facts):
            real = pixels.mapped(self.real, _real_shape(facts)).view(np.float64)[..., 0]
            factors = factors.copy()
            factors[:, continuous] = np.stack([equal_bins(column) for column in real.T], axis=1)
        return OwnDataSet(
            name=name,
            source="user",
            channels=facts["channels"],
            factor_names=tuple(facts["names"]),
            factor_sizes=tuple(facts["sizes"]),
            content=facts["content"],
            pictures=facts["count"],
            pixels=pixels.mapped(self.pixels, _pixels_shape(facts)),
            factors=factors,
            continuous=tuple(continuous),
            categorical=tuple(facts["categorical"]),
            real=real,
            ignored=facts["ignored"],
            skipped=facts["skipped"],
            transparent=facts["transparent"],
        )

    def remove(self) -> None:
        """Remove what was written for files that have changed since."""
        self.pixels.unlink(missing_ok=True)
        self.factors.unlink(missing_ok=True)
        self.real.unlink(missing_ok=True)


def _prepare(files: OwnFiles, prepared: _Prepared, progress: Progress | None) -> dict[str, Any]:
    """Write pixels and factors; returns the facts. Reading the factors first is quick."""
    trying, drawing = _halves(progress) if files.skip_broken else (None, progress)
    pictures = _pictures(files, trying)
    table = factors.read(files, pictures.count)
    facts: dict[str, Any] = {
        "count": pictures.count,
        "channels": pictures.channels,
        "ignored": pictures.ignored,
        "skipped": pictures.skipped,
        "transparent": pictures.transparent,
        "names": table.names,
        "sizes": [
            BINS if place in table.continuous else len(values)
            for place, values in enumerate(table.values)
        ],
        "continuous": table.continuous,
        "categorical": table.categorical,
    }
    mapped = pixels.prepared(prepared.pixels, _pixels_shape(facts), pictures.blocks, drawing)
    if table.names:
        bytes_ = table.codes.view(np.uint8).reshape(_factors_shape(facts))
        pixels.prepared(prepared.factors, _factors_shape(facts), lambda: [bytes_])
    if table.continuous:
        real = np.ascontiguousarray(table.real()).view(np.uint8).reshape(_real_shape(facts))
        pixels.prepared(prepared.real, _real_shape(facts), lambda: [real])
    return facts | {"content": _content(mapped, table)}


def _halves(progress: Progress | None) -> tuple[Progress | None, Progress | None]:
    """The progress of two steps that take the same time."""
    if progress is None:
        return None, None
    return lambda part: progress(part / 2), lambda part: progress((1 + part) / 2)


def _pictures(files: OwnFiles, progress: Progress | None) -> Pictures:
    if files.folder is not None:
        from data.own import folder

        return folder.read(files.path("folder"), files.skip_broken, progress)
    from data.own import arrays

    return arrays.read(files.path("images"))


def _content(mapped: Pixels, table: factors.FactorTable) -> str:
    """A hash that is the same for the same pictures and labels in all formats and places."""
    hash_ = hashlib.sha256(json.dumps([mapped.shape, table.names, table.values]).encode())
    for start in range(0, len(mapped), HASHED_AT_ONCE):
        hash_.update(mapped[start : start + HASHED_AT_ONCE].tobytes())
    hash_.update(table.codes.tobytes())
    return hash_.hexdigest()[:16]


def _pixels_shape(facts: dict[str, Any]) -> tuple[int, ...]:
    return facts["count"], facts["channels"], SIDE, SIDE


def _continuous(facts: dict[str, Any]) -> list[int]:
    return list(facts.get("continuous", []))  # older versions refused such columns


def _real_shape(facts: dict[str, Any]) -> tuple[int, ...]:
    return facts["count"], len(_continuous(facts)), 8


def _factors_shape(facts: dict[str, Any]) -> tuple[int, ...]:
    return facts["count"], len(facts["names"]), 8
