"""Any changed bit of a part is noticed; parts of older versions are still read."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra import checksum
from infra.store import Store, merged_key, table_of
from tests.infra.test_store import curve

FLIPS = 800


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.write_part("curves", "a", curve("a", [1.0, 2.5]), made_from="models 1 and 2")
    return store


def file_of(store: Store, key: str = "a") -> Path:
    return Path(store.path("tables", "curves", f"{key}.parquet"))


def test_every_changed_bit_is_noticed(store: Store) -> None:
    """But for the name of the checksum itself, which is no result."""
    rows, whole = store.read("curves"), bytearray(file_of(store).read_bytes())
    name = whole.rfind(checksum.ENTRY)
    draws = random.Random(5)
    for _ in range(FLIPS):
        place, bit = draws.randrange(len(whole)), 1 << draws.randrange(8)
        whole[place] ^= bit
        file_of(store).write_bytes(whole)
        whole[place] ^= bit
        part = store._read_part("curves", "a", None)
        in_name = name <= place < name + len(checksum.ENTRY)
        assert part is None or (in_name and part.equals(rows)), (place, bit)
    assert store.damaged == {("curves", "a")}


def test_parts_of_older_versions_are_read_and_their_pages_checked(store: Store) -> None:
    rows = table_of("curves", curve("a", [1.0, 2.5]))
    pq.write_table(rows, file_of(store), compression="none", write_page_checksum=True)
    content = file_of(store).read_bytes()
    assert checksum.is_whole(content) is None
    assert store.read("curves").equals(rows)
    place = content.find(b"redrawn")
    file_of(store).write_bytes(content[:place] + b"R" + content[place + 1 :])
    assert store.read("curves").num_rows == 0


def test_rows_that_are_read_and_written_again_have_one_checksum(store: Store) -> None:
    store.merge("curves", "cell", ["a"])
    key = merged_key("cell")
    content = file_of(store, key).read_bytes()
    assert checksum.is_whole(content) is True and content.count(checksum.ENTRY) == 1
    store.write_part("curves", key, store.read("curves"))
    assert checksum.is_whole(file_of(store, key).read_bytes()) is True


def test_what_a_part_was_made_from_stays(store: Store) -> None:
    assert store.part_made_from("curves", "a") == "models 1 and 2"
    metadata = store.read("curves", keys=["a"]).schema.metadata
    assert checksum.NAME.encode() not in metadata


def test_other_programs_read_it(store: Store) -> None:
    read = pq.read_table(pa.BufferReader(file_of(store).read_bytes()))
    assert read["loss"].to_pylist() == [1.0, 2.5]
