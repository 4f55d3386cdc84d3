"""The directory or object-store prefix of one study: documents, files and Parquet tables.

A table part is named by its key and written whole; written twice, it is replaced.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from infra.checksum import is_whole, parquet_bytes, without_checksum
from infra.files import Files
from infra.tables import TABLES, schema

DAMAGED = "damaged"  # a folder for parts that could not be read
FOLDERS = ((), ("drivers",), ("claims",))  # beside the tables, where killed writers leave files
MERGED = "cell-"  # names of parts with the rows of many models begin with this
# Bytes. In less, compression, dictionaries and statistics save nothing and take most of the time.
COMPACT_FROM = 2**15
BLOCK = 256  # small parts that are in memory at once


def merged_key(cell: str) -> str:
    """The key of the part with the rows of a whole cell."""
    return MERGED + cell


class Store(Files):
    """Reads and writes one study's results; needs neither Ray nor Prefect."""

    def __init__(self, uri: str | Path) -> None:
        super().__init__(uri)
        self.damaged: set[tuple[str, str]] = set()  # parts that could not be read so far

    def prepare(self) -> None:
        """Create the store, or raise if it cannot be written."""
        self.create([*FOLDERS, *(("tables", table) for table in TABLES)])

    def write_part(
        self,
        table: str,
        key: str,
        columns: Mapping[str, Any] | pa.Table,
        made_from: str = "",
        lasting: bool = False,
    ) -> None:
        """Write one part; columns are arrays or lists, or a single value for all rows.

        `made_from` names what a derived part was made from: where `part_made_from` returns
        something else, the part is out of date.
        """
        rows = columns if isinstance(columns, pa.Table) else table_of(table, columns)
        if not rows.schema.equals(schema(table)):
            raise ValueError(f"table {table}: found {rows.schema.names}, or other types")
        if made_from:
            rows = rows.replace_schema_metadata({**rows.schema.metadata, "made_from": made_from})
        content = parquet_bytes(rows, compact=rows.nbytes >= COMPACT_FROM)
        self.write_bytes(content, "tables", table, f"{key}.parquet", lasting=lasting)

    def parts(self, table: str) -> list[str]:
        return [n.removesuffix(".parquet") for n in self.names("tables", table)]

    def has_part(self, table: str, key: str) -> bool:
        return self.exists("tables", table, f"{key}.parquet")

    def part_made_from(self, table: str, key: str) -> str:
        """What a part was made from; empty if it does not exist or is damaged."""
        part = self._read_part(table, key, ["model_id"])
        return "" if part is None else made_from(part)

    def narrow_part(self, table: str, key: str, columns: Sequence[str]) -> pa.Table | None:
        """Some columns of a part whose others are large: their bytes are neither read nor checked.

        None if the part does not exist or is damaged where it is read.
        """
        try:
            path = self.path("tables", table, f"{key}.parquet")
            with pq.ParquetFile(path, filesystem=self.fs, page_checksum_verification=True) as file:
                rows = file.read(columns=columns, use_threads=False)
                _check_shape(file, rows, table)
                return _completed(rows, table, columns)
        except (pa.ArrowException, OSError, ValueError):  # also a store out of reach: look again
            return self._read_part(table, key, columns)

    def is_damaged(self, table: str, key: str, deep: bool) -> bool:
        """Whether a part cannot be read; unless `deep`, only its end is looked at."""
        if deep:
            return self._read_part(table, key, None) is None and self.has_part(table, key)
        try:
            pq.ParquetFile(self.path("tables", table, f"{key}.parquet"), filesystem=self.fs).close()
        except FileNotFoundError:  # a run merged it since it was listed
            return False
        except (pa.ArrowException, OSError, ValueError):
            return True
        return False

    def _of_these(self, table: str, keys: Iterable[str]) -> list[str]:
        """Those that exist; not by listing, which takes longer the larger the study is."""
        keys = list(keys)
        files = self.fs.get_file_info([self.path("tables", table, f"{k}.parquet") for k in keys])
        return [k for k, f in zip(keys, files, strict=True) if f.type != pafs.FileType.NotFound]

    def remove_part(self, table: str, key: str) -> None:
        self.remove("tables", table, f"{key}.parquet")

    def read(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        keys: Iterable[str] | None = None,
        where: pc.Expression | None = None,
        encoded: Sequence[str] = (),
    ) -> pa.Table:
        """All rows of a table (or of some of its parts). A damaged part counts as missing.

        `where` chooses rows by some of the columns. Merged parts are cut down one by one, so that
        the other rows of a large study are never in memory together. `encoded` columns come as the
        files have them: each text once, and its place in each row, which is read in a quarter of
        the time.
        """
        if keys is None:
            while True:  # again, if a part was merged while we read
                parts = self.parts(table)
                rows = self.read(table, columns, parts, where, encoded)
                if set(parts) <= set(self.parts(table)):
                    return rows
        keys = list(keys)
        merged = [key for key in keys if key.startswith(MERGED)]
        single = [key for key in keys if not key.startswith(MERGED)]
        wanted = columns if columns is None or "model_id" in columns else [*columns, "model_id"]
        blocks = [single[i : i + BLOCK] for i in range(0, len(single), BLOCK)]
        newer = [
            _in_one_piece(list(read.values()))
            for block in blocks
            if (read := self._read_parts(table, block, wanted, encoded=encoded))
        ]
        older = list(self._read_parts(table, merged, wanted, where, encoded).values())
        older = _without(older, newer)
        if where is not None:  # only now: a model's own part replaces all of its merged rows
            newer = [rows.filter(where) for rows in newer]
        tables = [*older, *newer]
        rows = pa.concat_tables(tables) if tables else pa.Table.from_batches([], schema(table))
        return rows if columns is None else rows.select(list(columns))

    def keys_of(self, table: str, cells: Mapping[str, Iterable[str]]) -> list[str]:
        """Keys of the parts to read for these models, whose ids are given by cell.

        These are the models' own parts that exist, and the merged part of each cell, whether it
        exists or not: a run may merge parts at any time.
        """
        ids = {model_id for model_ids in cells.values() for model_id in model_ids}
        return [*ids.intersection(self.parts(table)), *map(merged_key, cells)]

    def rows_of(self, table: str, model_id: str, cell: str) -> pa.Table:
        """One model's rows, from its own part or from its cell's."""
        rows = self.read(table, keys=[model_id, merged_key(cell)])
        return rows.filter(pc.equal(rows["model_id"], model_id))

    def merge(self, table: str, cell: str, keys: Iterable[str]) -> None:
        """Put the parts of a cell's models into one, so that reading a large study stays fast.

        Nothing is lost if it is killed: a small part is removed after the merged part is written,
        and as long as it exists its rows replace the merged ones. Damaged parts stay.
        """
        key = merged_key(cell)
        small = self._read_parts(table, self._of_these(table, keys), None)
        if small:
            older = self._read_parts(table, [key], None)
            if not older and self.has_part(table, key):
                self.set_aside(table, key)
            own = list(small.values())
            rows = pa.concat_tables([*_without(list(older.values()), own), *own])
            self.write_part(table, key, rows, lasting=True)
            for small_key in small:
                self.remove_part(table, small_key)

    def set_aside(self, table: str, key: str) -> None:
        """Move a damaged part to another folder, as a new one gets its name."""
        name = f"{table}-{key}-{uuid.uuid4().hex[:8]}.parquet"
        if self.local:
            Path(self.path(DAMAGED)).mkdir(exist_ok=True)
        self.move(("tables", table, f"{key}.parquet"), (DAMAGED, name))

    def drop(self, table: str, cell: str, model_ids: set[str]) -> None:
        """Remove the rows of some models from their own parts and the merged one."""
        key = merged_key(cell)
        if self.has_part(table, key):
            rows = self.read(table, keys=[key])
            dropped = pc.is_in(rows["model_id"], pa.array(sorted(model_ids), pa.string()))
            others = rows.filter(pc.invert(dropped))
            if others.num_rows < rows.num_rows:
                self.write_part(table, key, others, lasting=True)
        for model_id in model_ids:
            self.remove_part(table, model_id)

    def _read_parts(
        self,
        table: str,
        keys: Sequence[str],
        columns: Sequence[str] | None,
        where: pc.Expression | None = None,
        encoded: Sequence[str] = (),
    ) -> dict[str, pa.Table]:
        """The parts that can be read, by key."""

        def read(key: str) -> pa.Table | None:
            part = self._read_part(table, key, columns, encoded)
            return part if part is None or where is None else part.filter(where)

        if self.local:  # here threads would be slower: they wait for each other
            parts = list(map(read, keys))
        else:
            with ThreadPoolExecutor(4) as pool:
                parts = list(pool.map(read, keys))
        return {key: part for key, part in zip(keys, parts, strict=True) if part is not None}

    def _read_part(
        self, table: str, key: str, columns: Sequence[str] | None, encoded: Sequence[str] = ()
    ) -> pa.Table | None:
        try:
            content = self.read_bytes("tables", table, f"{key}.parquet")
        except FileNotFoundError:
            return None
        try:  # reading is outside: a store out of reach must not look like a damaged part
            whole = is_whole(content)
            if whole is False:
                raise ValueError(f"table {table}: a checksum that is wrong")
            file = pq.ParquetFile(
                pa.BufferReader(content),
                page_checksum_verification=not whole,
                read_dictionary=list(encoded),
            )
            rows = without_checksum(file.read(columns=columns, use_threads=False))
            _check_shape(file, rows, table)
            return _completed(rows, table, columns)
        except (pa.ArrowException, OSError, ValueError):  # the parser's errors at wrong bytes
            self.damaged.add((table, key))
            return None


def made_from(part: pa.Table) -> str:
    """What a part that was read says that it was made from."""
    return cast(bytes, (part.schema.metadata or {}).get(b"made_from", b"")).decode()


def _in_one_piece(parts: list[pa.Table]) -> pa.Table:
    """The rows of all these parts; small parts in one piece of memory, as each part that stays a
    piece of its own takes far more memory than its rows."""
    rows = pa.concat_tables(parts)
    small = rows.nbytes < COMPACT_FROM * len(parts)
    return rows.unify_dictionaries().combine_chunks() if small else rows


def _without(merged: list[pa.Table], own: Sequence[pa.Table]) -> list[pa.Table]:
    """Merged parts, without rows of models that have their own part, which is newer."""
    if not merged or not own:
        return merged
    ids = pa.concat_tables([part.select(["model_id"]) for part in own])["model_id"]
    fresh = ids.cast(pa.string()).unique()
    return [
        part.filter(pc.invert(pc.is_in(part["model_id"].cast(pa.string()), fresh)))
        for part in merged
    ]


def table_of(name: str, columns: Mapping[str, Any]) -> pa.Table:
    """A table with this schema; a column may be a single value for all rows."""
    wanted = schema(name)
    missing, unknown = set(wanted.names) - set(columns), set(columns) - set(wanted.names)
    if missing or unknown:
        raise ValueError(
            f"table {name}: missing columns {sorted(missing)}, unknown columns {sorted(unknown)}"
        )
    rows = next((len(c) for c in columns.values() if _has_rows(c)), 1)
    arrays = []
    for field in wanted:
        value = columns[field.name]
        if isinstance(value, pa.Array):
            arrays.append(value.cast(field.type))
        elif _has_rows(value):
            arrays.append(pa.array(value, field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(value, field.type), rows))
    return pa.Table.from_arrays(arrays, schema=wanted)


def _check_shape(file: pq.ParquetFile, rows: pa.Table, table: str) -> None:
    """Raise if rows are missing or a column has another name: no checksum covers such bytes."""
    names, known = set(file.schema_arrow.names), set(schema(table).names)
    if (known - names and names - known) or len(rows) != file.metadata.num_rows:
        raise ValueError(f"table {table}: {len(rows)} rows of {sorted(names)}")


def _completed(rows: pa.Table, table: str, columns: Sequence[str] | None) -> pa.Table:
    """Add the columns that the schema did not have when the rows were written, as nulls."""
    wanted = schema(table) if columns is None else pa.schema(map(schema(table).field, columns))
    if rows.schema.names == wanted.names:
        return rows
    arrays = [
        rows[field.name] if field.name in rows.schema.names else pa.nulls(len(rows), field.type)
        for field in wanted
    ]
    return pa.Table.from_arrays(
        arrays, schema=wanted.with_metadata({**schema(table).metadata, **rows.schema.metadata})
    )


def _has_rows(column: Any) -> bool:
    return hasattr(column, "__len__") and not isinstance(column, str | bytes)
