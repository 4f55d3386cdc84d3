"""Read a user's pictures from a Parquet column of encoded ones, as Hugging Face writes them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.base import parquet_file, pictures
from data.base.pictures import Kind, Pictures
from data.base.pixels import Pixels
from data.base.reading import printable, reading
from infra.errors import WrongInput

FIELD = "data.images"
READABLE = "a whole Parquet file"
COLUMNS = ("image", "images")
ROWS_AT_ONCE = 16
LARGEST_UNPACKED = 2**23  # bytes of a group of rows that are not looked at closer
MOST_PACKED = 20  # times


def read(path: Path) -> Pictures:
    """The pictures: grey if all of them are, else coloured."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        count, column = file.metadata.num_rows, _column(path, file.schema_arrow)
        _check_size(path, file.metadata, column)
    encoded = enumerate(_encoded(path, column))
    results = [result for some in pictures.attempts(encoded, _kind) for result in some]
    if not count or len(results) != count:
        raise WrongInput(FIELD, f"no pictures in {printable(path.name)}", "at least one picture")
    refused = [result for result in results if isinstance(result, WrongInput)]
    broken = {row for row, result in enumerate(results) if isinstance(result, WrongInput)}
    kinds = [result for result in results if not isinstance(result, WrongInput)]
    channels = 1 if all(kind.is_grey for kind in kinds) else 3
    transparent = sum(kind.is_transparent for kind in kinds)

    def draw(numbered: tuple[int, bytes]) -> Pixels:
        row, encoded = numbered
        with pictures.opened(io.BytesIO(encoded), FIELD, f"row {row}") as image:
            return pictures.drawn(image, channels)

    def blocks() -> Iterator[Pixels]:
        with reading(FIELD, path.name, READABLE):
            encoded = enumerate(_encoded(path, column))
            readable = (numbered for numbered in encoded if numbered[0] not in broken)
            yield from pictures.in_blocks(readable, draw, refused)

    return Pictures(count, channels, blocks, transparent=transparent)


def _column(path: Path, schema: Any) -> str:
    import pyarrow as pa

    for name in COLUMNS:
        if name not in schema.names:
            continue
        kind = schema.field(name).type
        if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
            kind = kind.field("bytes").type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return name
        raise WrongInput(FIELD, f"{name} of type {kind}", "encoded pictures: bytes, as in a .png")
    found = f"no image in {printable(path.name)} (it holds {', '.join(schema.names)})"
    raise WrongInput(FIELD, found, "a column named image or images")


def _check_size(path: Path, metadata: Any, column: str) -> None:
    """Raise if the pictures would take far more memory than the file takes: they are packed
    already, so that packing them again saves little."""
    for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
        for chunk in (group.column(i) for i in range(group.num_columns)):
            if chunk.path_in_schema.partition(".")[0] != column:
                continue
            stored, unpacked = chunk.total_compressed_size, chunk.total_uncompressed_size
            if unpacked > max(LARGEST_UNPACKED, MOST_PACKED * stored):
                found = f"{printable(path.name)}, where {stored:,} bytes unpack to {unpacked:,}"
                raise WrongInput(FIELD, found, "encoded pictures, which cannot be packed again")


def _encoded(path: Path, column: str) -> Iterator[bytes]:
    """The column's pictures, a few rows in memory at a time; the same picture only once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    row, last = 0, b""
    with parquet_file.opened(path, pre_buffer=False) as file:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=[column]):
            cells = batch.column(0)
            if pa.types.is_struct(cells.type):
                cells = pc.struct_field(cells, "bytes")
            for encoded in parquet_file.values(pa.chunked_array([cells])):
                if encoded is None:
                    raise WrongInput(FIELD, f"nothing in row {row}", "a picture in every row")
                last = last if encoded == last else encoded
                yield last
                row += 1


def _kind(numbered: tuple[int, bytes]) -> Kind:
    row, encoded = numbered
    with pictures.opened(io.BytesIO(encoded), FIELD, f"row {row}") as image:
        return pictures.kind_of(image)
