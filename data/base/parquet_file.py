"""Parquet files whose columns of words take no more memory than the file's own list of words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def opened(path: Path, **options: Any) -> Any:
    """The file, to be closed by `with`. Columns of words are read as numbers of words: a few bytes
    for a row, however long its word is. A file of 60 kB may repeat a word of a megabyte in every
    row."""
    import pyarrow.parquet as pq
    import pyarrow.types as kinds

    are_words = (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary)
    with pq.ParquetFile(path) as file:
        # pyarrow cannot read words within a struct in this way.
        words = [
            field.name for field in file.schema_arrow if any(kind(field.type) for kind in are_words)
        ]
    return pq.ParquetFile(path, read_dictionary=words, **options)


def values(column: Any) -> NDArray[Any]:
    """A chunked column as numpy has it; rows with the same word share one object."""
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        column = column.dictionary_encode()
    if not kinds.is_dictionary(column.type):
        return np.asarray(column.to_numpy())
    chunks = []
    for chunk in column.chunks:
        words = np.asarray(chunk.dictionary.to_numpy(zero_copy_only=False))
        places = chunk.indices.to_numpy(zero_copy_only=False)
        missing = np.isnan(places) if places.dtype.kind == "f" else np.zeros(len(places), bool)
        if missing.any():
            of_rows = np.full(len(places), None, object)
            of_rows[~missing] = words[places[~missing].astype(np.int64)]
        else:
            of_rows = words[places.astype(np.int64)]
        chunks.append(of_rows)
    return np.concatenate(chunks) if chunks else np.empty(0, object)
