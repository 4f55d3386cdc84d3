"""Read a user's pictures from a Parquet column of encoded ones, as Hugging Face writes them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.base import pictures
from data.base.pictures import Kind, Pictures
from data.base.pixels import Pixels
from data.base.reading import printable, reading
from infra.errors import WrongInput

FIELD = "data.images"
READABLE = "a whole Parquet file"
COLUMNS = ("image", "images")
AT_ONCE = 64  # rows


def read(path: Path) -> Pictures:
    """The pictures: grey if all of them are, else coloured."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        count, column = file.metadata.num_rows, _column(path, file.schema_arrow)
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
            sound = (item for item in enumerate(_encoded(path, column)) if item[0] not in broken)
            yield from pictures.in_blocks(sound, draw, refused)

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


def _encoded(path: Path, column: str) -> Iterator[bytes]:
    """The column's pictures, a few rows in memory at a time."""
    import pyarrow.parquet as pq

    row = 0
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(AT_ONCE, columns=[column]):
            for cell in batch.column(0).to_pylist():
                encoded = cell.get("bytes") if isinstance(cell, dict) else cell
                if encoded is None:
                    raise WrongInput(FIELD, f"nothing in row {row}", "a picture in every row")
                yield encoded
                row += 1


def _kind(numbered: tuple[int, bytes]) -> Kind:
    row, encoded = numbered
    with pictures.opened(io.BytesIO(encoded), FIELD, f"row {row}") as image:
        return pictures.kind_of(image)
