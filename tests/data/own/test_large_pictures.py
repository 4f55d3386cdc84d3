"""A small file can be a large picture: how many of those are in memory at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from data.base import pictures
from data.own import parquet
from infra.errors import WrongInput


def test_large_pictures_are_drawn_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small ones are drawn at the same time."""
    monkeypatch.setattr(pictures, "LARGE", 100)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    for side in (8, 12):
        Image.new("RGB", (side, side)).save(tmp_path / f"{side}.png")
    assert most_at_once(tmp_path / "8.png") > 1
    assert most_at_once(tmp_path / "12.png") == 1


def most_at_once(file: Path) -> int:
    """How many threads have this picture open at the same time."""
    lock, now, counts = threading.Lock(), 0, []

    def draw(path: Path) -> None:
        nonlocal now
        with pictures.opened(path, "data", path.name):
            with lock:
                now += 1
                counts.append(now)
            time.sleep(0.02)
            with lock:
                now -= 1

    list(pictures.attempts([file] * 8, draw))
    return max(counts)


def test_pictures_that_are_packed_again_are_refused(tmp_path: Path) -> None:
    """Each of 64 rows that are read at once would be 20 MB, of a file of 2 kB."""
    path = tmp_path / "own.parquet"
    places = pa.array(np.zeros(1000, np.int32))
    column = pa.DictionaryArray.from_arrays(places, pa.array([bytes(20_000_000)], pa.binary()))
    pq.write_table(pa.table({"image": column}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 10_000
    with pytest.raises(WrongInput, match=r"own\.parquet, where .* bytes unpack to 20,000"):
        parquet.read(path)


def test_rows_with_the_same_picture_share_it(tmp_path: Path) -> None:
    path = tmp_path / "own.parquet"
    rows = [{"bytes": b"picture", "path": "x"}] * 50 + [{"bytes": b"other", "path": None}]
    pq.write_table(pa.table({"image": rows}), path)
    encoded = list(parquet._encoded(path, "image"))
    assert encoded == [b"picture"] * 50 + [b"other"]
    assert len(set(map(id, encoded))) == 2
