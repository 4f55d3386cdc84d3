import math
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.store import Store, made_from, merged_key, table_of
from infra.tables import KEYS, TABLES, schema

ROOT = Path(__file__).parents[2]
MANY = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


def keys(model_id: str = "a") -> dict[str, object]:
    return {
        "model_id": model_id,
        "data": "dsprites",
        "source": "redrawn",
        "method": "beta_vae",
        "strength": 4.0,
        "architecture": "paper",
        "latents": 10,
        "seed": 0,
        "protocol": 1,
    }


def curve(model_id: str, losses: list[float]) -> dict[str, object]:
    return {
        **keys(model_id),
        "step": np.arange(len(losses)),
        "loss": np.array(losses, np.float32),
        "reconstruction": 1.0,
        "kl": 2.0,
        "regulariser": 3.0,
    }


def losses(rows: pa.Table) -> dict[str, list[float]]:
    by_model: dict[str, list[float]] = {}
    for row in rows.to_pylist():
        by_model.setdefault(row["model_id"], []).append(row["loss"])
    return by_model


def file_of(store: Store, table: str, key: str) -> Path:
    return Path(store.root) / "tables" / table / f"{key}.parquet"


# rows ----------------------------------------------------------------------------------------

KINDS = {
    pa.string(): st.text(max_size=8),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.float64(): st.floats(),
    pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(),
    pa.binary(): st.binary(max_size=8),
}
KINDS |= {pa.list_(kind): st.lists(values, max_size=4) for kind, values in KINDS.items()}


@st.composite
def columns(draw):
    table, rows = draw(st.sampled_from(list(TABLES))), draw(st.integers(1, 5))
    return table, {
        field.name: draw(st.lists(st.none() | KINDS[field.type], min_size=rows, max_size=rows))
        for field in schema(table)
    }


def shown(value: object) -> object:
    return [repr(v) for v in value] if isinstance(value, list) else repr(value)


@given(columns())
@MANY
def test_what_is_written_is_read(tmp_path, drawn):
    table, wanted = drawn
    store = Store(tmp_path / "round-trip")
    store.write_part(table, "key", wanted)
    rows = store.read(table, keys=["key"])
    assert rows.schema.equals(schema(table))
    for name, values in wanted.items():
        assert shown(rows[name].to_pylist()) == shown(values), name


def test_a_single_value_stands_for_all_rows(store):
    store.write_part("curves", "a", curve("a", [1, 2, 3]))
    rows = store.read("curves").to_pydict()
    assert rows["model_id"] == ["a"] * 3 and rows["kl"] == [2.0] * 3
    assert rows["step"] == [0, 1, 2] and rows["loss"] == [1, 2, 3]


def test_a_table_without_parts_is_empty_and_has_its_columns(store):
    assert store.read("scores").schema.equals(schema("scores"))
    assert store.read("scores").num_rows == 0
    assert store.read("scores", ["value"]).column_names == ["value"]
    assert store.parts("scores") == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kl": None, "nats": 1.0}, r"missing columns \['kl'\], unknown columns \['nats'\]"),
        ({"kl": None}, r"curves: missing columns \['kl'\], unknown columns \[\]"),
        ({"nats": 1.0}, r"curves: missing columns \[\], unknown columns \['nats'\]"),
    ],
)
def test_wrong_columns_are_refused(store, change, complaint):
    wrong = {**curve("a", [1, 2]), **change}
    if "kl" in change:
        del wrong["kl"]
    with pytest.raises(ValueError, match=complaint):
        store.write_part("curves", "a", wrong)
    assert store.parts("curves") == []


def test_columns_of_another_length_or_kind_are_refused(store):
    with pytest.raises((pa.ArrowInvalid, ValueError)):
        store.write_part("curves", "a", {**curve("a", [1, 2]), "kl": [1.0, 2.0, 3.0]})
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError)):
        store.write_part("curves", "a", {**curve("a", [1, 2]), "kl": "much"})
    with pytest.raises(ValueError, match="table scores"):
        store.write_part("scores", "a", table_of("curves", curve("a", [1, 2])))
    assert store.parts("curves") == store.parts("scores") == []


def test_some_parts_and_some_columns(store):
    for name in "abc":
        store.write_part("curves", name, curve(name, [ord(name), 0]))
    some = store.read("curves", keys=["c", "a", "gone"])
    assert losses(some) == {"c": [99, 0], "a": [97, 0]}
    assert store.read("curves", ["loss", "step"], ["b"]).to_pydict() == {
        "loss": [98, 0],
        "step": [0, 1],
    }
    assert store.read("curves", ["step"]).column_names == ["step"]
    assert store.read("curves", keys=iter(["a"])).num_rows == 2
    assert store.read("curves", keys=[]).num_rows == 0


def test_writing_twice_gives_one(store):
    store.write_part("curves", "a", curve("a", [1, 2, 3]))
    store.write_part("curves", "a", curve("a", [4]))
    assert losses(store.read("curves")) == {"a": [4]}


# damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 4, 100, -1, -8, -9])
def test_a_part_cut_short_counts_as_absent(store, length):
    store.write_part("curves", "a", curve("a", [1, 2]))
    store.write_part("curves", "b", curve("b", [3]))
    whole = file_of(store, "curves", "a").read_bytes()
    file_of(store, "curves", "a").write_bytes(whole[:length])
    assert losses(store.read("curves")) == {"b": [3]}
    assert store.part_made_from("curves", "a") == ""


def test_a_changed_byte_never_changes_a_number_nor_stops_the_reading(store):
    """Wherever the byte is, the part is read as it was, or counts as absent."""
    values = np.random.default_rng(0).random(40).astype(np.float32).tolist()
    store.write_part("curves", "a", curve("a", values))
    store.write_part("curves", "b", curve("b", [3]))
    file = file_of(store, "curves", "a")
    whole = bytearray(file.read_bytes())
    places = range(0, len(whole), 5)
    unreadable = 0
    for place in places:
        whole[place] ^= 0x55
        file.write_bytes(whole)
        whole[place] ^= 0x55
        rows = store._read_part("curves", "a", ["loss"])
        if rows is None:
            unreadable += 1
        elif rows.column_names == ["loss"]:
            assert rows["loss"].to_pylist() == values, place
    assert unreadable > 100
    file.write_bytes(b"not a table at all")
    assert losses(store.read("curves")) == {"b": [3]}


# merging -------------------------------------------------------------------------------------


@st.composite
def histories(draw):
    """What happens to four models' parts, in any order."""
    names = st.sampled_from("abcd")
    event = st.one_of(
        st.tuples(st.just("write"), names, st.integers(0, 99)),
        st.tuples(st.just("merge"), st.sets(names)),
        st.tuples(st.just("killed merge"), st.sets(names), st.sets(names)),
        st.tuples(st.just("drop"), st.sets(names)),
    )
    return draw(st.lists(event, max_size=8))


@given(histories())
@MANY
def test_merging_loses_nothing_whatever_came_before(tmp_path_factory, events):
    store = Store(tmp_path_factory.mktemp("store"))
    expected: dict[str, list[float]] = {}
    for what, *more in events:
        if what == "write":
            name, value = more
            store.write_part("curves", name, curve(name, [value, value + 1]))
            expected[name] = [value, value + 1]
        elif what == "merge":
            store.merge("curves", "cell", sorted(more[0]))
            assert not more[0] & set(store.parts("curves"))
        elif what == "killed merge":  # the merged part stands, some small ones are still there
            small = {k: file_of(store, "curves", k) for k in more[0] & more[1]}
            before_crash = {k: f.read_bytes() for k, f in small.items() if f.exists()}
            store.merge("curves", "cell", sorted(more[0]))
            for name, content in before_crash.items():
                small[name].write_bytes(content)
        else:
            store.drop("curves", "cell", more[0])
            expected = {k: v for k, v in expected.items() if k not in more[0]}
        assert losses(store.read("curves")) == expected
        for name in "abcd":
            mine = losses(store.rows_of("curves", name, "cell"))
            assert mine == ({name: expected[name]} if name in expected else {})


@pytest.mark.parametrize("encoded", [(), ("model_id",)])
def test_small_parts_are_read_in_blocks(store, monkeypatch, encoded):
    monkeypatch.setattr("infra.store.BLOCK", 2)
    for number, name in enumerate("abcde"):
        store.write_part("curves", name, curve(name, [number, number + 1]))
    rows = store.read("curves", encoded=encoded)
    assert losses(rows) == {name: [n, n + 1] for n, name in enumerate("abcde")}
    assert rows["step"].num_chunks == 3, "a block is in one piece"


def test_what_is_left_of_a_cell_is_flushed(store, monkeypatch):
    for name in "ab":
        store.write_part("curves", name, curve(name, [1]))
    store.merge("curves", "cell", "ab")
    flushed = []
    monkeypatch.setattr("infra.files._flush", flushed.append)
    store.drop("curves", "cell", {"a"})
    assert len(flushed) == 1 and losses(store.read("curves")) == {"b": [1]}


def test_reading_while_another_driver_merges_finds_every_row(store, monkeypatch):
    for name in "ab":
        store.write_part("curves", name, curve(name, [1]))
    listed = Store.parts

    def merged_after_listing(self, table):
        parts = listed(self, table)
        monkeypatch.undo()
        self.merge("curves", "cell", "ab")
        return parts

    monkeypatch.setattr(Store, "parts", merged_after_listing)
    assert losses(store.read("curves")) == {"a": [1], "b": [1]}


def test_rows_are_chosen_after_a_models_own_part_has_replaced_its_merged_rows(store):
    for name in "ab":
        store.write_part("curves", name, curve(name, [1, 5]))
    store.merge("curves", "cell", "ab")
    store.write_part("curves", "a", curve("a", [7]))
    low = pc.field("loss") < 3
    assert losses(store.read("curves")) == {"a": [7], "b": [1, 5]}
    assert losses(store.read("curves", where=low)) == {"b": [1]}
    assert store.read("curves", ["step"], where=pc.field("model_id") == "a").to_pylist() == [
        {"step": 0}
    ]


def test_of_a_merged_part_only_the_chosen_rows_are_in_memory(store, monkeypatch):
    for name in "ab":
        store.write_part("curves", name, curve(name, [1.0] * 1000))
    store.merge("curves", "cell", "ab")
    sizes = []
    monkeypatch.setattr(
        "infra.store._without", lambda merged, own: sizes.append(len(merged[0])) or merged
    )
    store.read("curves", where=pc.field("step") == 3)
    assert sizes == [2]


def test_small_parts_are_plain_and_large_ones_compressed(store):
    for name, rows in (("small", 10), ("large", 10_000)):
        store.write_part("curves", name, curve(name, [1.0] * rows))
    kinds = {
        name: pq.read_metadata(file_of(store, "curves", name)).row_group(0).column(0).compression
        for name in ("small", "large")
    }
    assert kinds == {"small": "UNCOMPRESSED", "large": "ZSTD"}


def test_merging_leaves_what_is_damaged(store):
    for name in "ab":
        store.write_part("curves", name, curve(name, [1]))
    file_of(store, "curves", "b").write_bytes(b"damaged")
    store.merge("curves", "cell", "ab")
    assert losses(store.read("curves")) == {"a": [1]}
    assert store.parts("curves") == ["b", merged_key("cell")]
    store.write_part("curves", "b", curve("b", [2]))
    file_of(store, "curves", merged_key("cell")).write_bytes(b"damaged as well")
    store.merge("curves", "cell", "ab")
    assert losses(store.read("curves")) == {"b": [2]}
    (damaged,) = (Path(store.root) / "damaged").iterdir()
    assert damaged.read_bytes() == b"damaged as well"


def test_a_merged_part_is_on_the_disk_before_the_small_ones_go(store, monkeypatch):
    store.write_part("curves", "a", curve("a", [1]))
    events, remove = [], Store.remove_part
    monkeypatch.setattr(os, "fsync", lambda number: events.append("flushed"))
    monkeypatch.setattr(Store, "remove_part", lambda *a: (events.append("gone"), remove(*a)))
    store.merge("curves", "cell", "a")
    assert events == ["flushed", "gone"]


def test_merging_a_cell_leaves_the_others(store):
    for name in "abc":
        store.write_part("curves", name, curve(name, [1]))
    store.merge("curves", "one", ["a", "b", "never trained"])
    assert store.parts("curves") == ["c", merged_key("one")] or store.parts("curves") == [
        merged_key("one"),
        "c",
    ]
    store.merge("curves", "two", ["never trained"])
    assert not store.has_part("curves", merged_key("two"))


def test_a_models_own_part_wins_over_the_merged_one(store):
    for name in "ab":
        store.write_part("curves", name, curve(name, [1]))
    store.merge("curves", "cell", "ab")
    store.write_part("curves", "a", curve("a", [5, 6]))
    assert losses(store.read("curves")) == {"a": [5, 6], "b": [1]}
    assert sorted(store.read("curves", ["loss"])["loss"].to_pylist()) == [1, 5, 6]
    store.merge("curves", "cell", "ab")
    assert losses(store.read("curves")) == {"a": [5, 6], "b": [1]}
    assert store.parts("curves") == [merged_key("cell")]


# what a part was made from -------------------------------------------------------------------


def test_made_from(store):
    store.write_part("curves", "a", curve("a", [1]), "models 1 and 2")
    assert store.part_made_from("curves", "a") == "models 1 and 2"
    about = pq.read_schema(file_of(store, "curves", "a")).metadata[b"about"].decode()
    assert about == TABLES["curves"][0]
    store.write_part("curves", "a", curve("a", [1]))
    assert store.part_made_from("curves", "a") == ""
    assert store.part_made_from("curves", "nowhere") == ""


def test_some_columns_of_a_part_are_read_without_the_bytes_of_others(store, monkeypatch):
    many = 50_000
    large = {**curve("a", list(range(many))), "kl": np.random.default_rng(0).normal(size=many)}
    store.write_part("curves", "a", large, "models 1 and 2")
    whole = store.read_bytes("tables", "curves", "a.parquet")
    changed = bytearray(whole)
    column = pq.ParquetFile(pa.BufferReader(whole)).metadata.row_group(0)
    of_kl = next(
        c for c in map(column.column, range(column.num_columns)) if c.path_in_schema == "kl"
    )
    begin = (
        of_kl.dictionary_page_offset or of_kl.data_page_offset
    ) + of_kl.total_compressed_size // 2
    changed[begin] ^= 255
    store.write_bytes(bytes(changed), "tables", "curves", "a.parquet")
    assert store.is_damaged("curves", "a", deep=True)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "read_bytes", lambda *_: pytest.fail("all of it was read"))
        part = store.narrow_part("curves", "a", ["model_id", "step"])
    assert part.column_names == ["model_id", "step"] and part["step"].to_pylist()[:2] == [0, 1]
    assert made_from(part) == "models 1 and 2"
    assert store.narrow_part("curves", "a", ["kl"]) is None
    assert store.narrow_part("curves", "nowhere", ["kl"]) is None
    store.write_bytes(whole[:-1], "tables", "curves", "a.parquet")
    assert store.narrow_part("curves", "a", ["step"]) is None


# killed writers ------------------------------------------------------------------------------

WRITER = """
import sys
import numpy as np
from infra.store import Store
store, value = Store(sys.argv[1]), 0
keys = dict(model_id="a", data="d", source="s", method="m", strength=1.0, seed=0, protocol=1,
            architecture="paper", latents=10)
while True:
    value += 1
    rows = 20_000
    store.write_part("curves", "a", {
        **keys, "step": np.full(rows, value), "loss": np.random.rand(rows),
        "reconstruction": 0.0, "kl": 0.0, "regulariser": 0.0,
    })
    store.write_bytes(bytes([value % 256]) * 2_000_000, "models", "a", "weights")
    print(value, flush=True)
"""


def test_a_killed_writer_leaves_whole_parts_only(store):
    reached = 0
    for attempt in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, store.root], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()  # it writes, and goes on writing
        time.sleep(0.011 * attempt + random.Random(attempt).random() * 0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert store.parts("curves") == ["a"] and store.names("models", "a") == ["weights"]
        rows = store.read("curves")
        assert rows.num_rows == 20_000 and len(set(rows["step"].to_pylist())) == 1
        content = store.read_bytes("models", "a", "weights")
        assert len(content) == 2_000_000 and len(set(content)) == 1
        reached += 1
    assert reached == 4


def test_a_failing_write_leaves_the_old_part(store, monkeypatch):
    store.write_part("curves", "a", curve("a", [1]))

    @contextmanager
    def full_disk(target):
        Path(target).write_bytes(b"half a part")
        yield SimpleNamespace(write=no_room)

    def no_room(data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "fs", Mock(wraps=store.fs, open_output_stream=full_disk))
    with pytest.raises(OSError, match="No space"):
        store.write_part("curves", "a", curve("a", [2]))
    with pytest.raises(OSError, match="No space"):
        store.merge("curves", "cell", ["a"])
    assert losses(store.read("curves")) == {"a": [1]} and store.parts("curves") == ["a"]
    assert not list(Path(store.root).rglob("*.tmp"))


def test_keys_are_part_of_every_table():
    assert [field.name for field in KEYS] == list(keys())


def test_numbers_that_are_not_finite_survive(store):
    store.write_part("curves", "a", curve("a", [math.inf, -math.inf, math.nan]))
    one, two, three = store.read("curves")["loss"].to_pylist()
    assert one == math.inf and two == -math.inf and math.isnan(three)


def test_rows_from_before_a_column_was_added_have_nulls_there(store):
    about = {"metric": "mig", "part": "score", "factor": None, "value": 0.5, "seconds": 0.1}
    for key in ("new", "old"):
        store.write_part("scores", key, {**keys(key), **about, "reason": "why", "stream": ""})
    file = store.path("tables", "scores", "old.parquet")
    pq.write_table(pq.read_table(file).drop_columns(["reason"]), file)
    rows = store.read("scores")
    assert rows.schema.equals(schema("scores"))
    assert dict(zip(*(rows[name].to_pylist() for name in ("model_id", "reason")), strict=True)) == {
        "new": "why",
        "old": None,
    }
    assert store.read("scores", ["reason", "model_id"]).sort_by("model_id")[
        "reason"
    ].to_pylist() == [
        "why",
        None,
    ]
    store.merge("scores", "some", ["old", "new"])
    assert store.read("scores").num_rows == 2
