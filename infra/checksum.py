"""Parquet files that show any changed bit: their footer has a checksum of the whole file.

Parquet's own checksums cover the pages alone, not their headers and not the footer.
"""

from __future__ import annotations

import zlib

import pyarrow as pa
import pyarrow.parquet as pq

NAME = "checksum"
BLANK = b"00000000"  # in its place while it is computed
# How Thrift writes this entry of the footer: two fields of text, each with its length.
ENTRY = b"\x18" + bytes([len(NAME)]) + NAME.encode() + b"\x18" + bytes([len(BLANK)])


def parquet_bytes(rows: pa.Table, compact: bool) -> bytes:
    """A Parquet file with its checksum; compression, dictionaries and statistics if `compact`."""
    target = pa.BufferOutputStream()
    with pq.ParquetWriter(
        target,
        rows.schema,
        compression="zstd" if compact else "none",
        use_dictionary=compact,
        write_statistics=compact,
        write_page_checksum=True,
    ) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({NAME: BLANK.decode()})
    content = bytearray(target.getvalue())
    place = _place(content)
    content[place : place + len(BLANK)] = _checksum(content)
    return bytes(content)


def is_whole(content: bytes) -> bool | None:
    """Whether the file is as it was written; none where an older version wrote it, without a
    checksum of the whole."""
    place = _place(content)
    return None if place < 0 else _checksum(content) == content[place : place + len(BLANK)]


def without_checksum(rows: pa.Table) -> pa.Table:
    """The rows as they were before they were written."""
    metadata = dict(rows.schema.metadata or {})
    metadata.pop(NAME.encode(), None)
    return rows.replace_schema_metadata(metadata)


def _place(content: bytes | bytearray) -> int:
    """Where the digits are; negative if there are none."""
    found = content.rfind(ENTRY)
    return found if found < 0 else found + len(ENTRY)


def _checksum(content: bytes | bytearray) -> bytes:
    """Of all but the digits."""
    place, view = _place(content), memoryview(content)
    number = zlib.crc32(view[place + len(BLANK) :], zlib.crc32(BLANK, zlib.crc32(view[:place])))
    return b"%08x" % number
