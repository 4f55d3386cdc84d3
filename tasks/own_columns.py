"""Codes and factors in a table: Parquet or CSV, with a column for each latent and factor.

Codes are a column `codes` of lists, or columns with a number: codes_0, codes_1 ... or z0, z1 ...
Factors are a column `factors` of lists, or columns named factor_NAME. Other columns are left out
then. If there are no such columns, all others are factors, but those that cannot be: a row's
number or file name, which no other row shares, dates and lists.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base import csv_table
from data.base.continuous import is_continuous
from infra.errors import WrongInput

LATENT = re.compile(r"(codes_|code_|latents_|latent_|z_|z)(\d+)")
PREFIX = "factor_"
Column = NDArray[Any]


def read(path: Path) -> tuple[dict[str, Any], list[str]]:
    """What the table has of `codes`, `factors` (names and columns) and `factor_names`, and the
    columns that are `left_out`; then the names of all columns."""
    table = csv_table.read(path) if path.suffix.lower() == ".csv" else _parquet(path)
    names: list[str] = table.column_names
    code_columns = ["codes"] if "codes" in names else _latents(names)
    others = [name for name in names if name not in code_columns]
    found: dict[str, Any] = {}
    if code_columns == ["codes"]:
        found["codes"] = _lists(path, table, "codes")
    elif code_columns:
        found["codes"] = np.stack([_values(table[name]) for name in code_columns], axis=1)
    columns: dict[str, Column]
    if "factors" in names:
        values = _lists(path, table, "factors")
        columns = {f"factor {place}": column for place, column in enumerate(values.T)}
        used = {"factors"}
    elif used := {name for name in others if name.startswith(PREFIX)}:
        columns = {
            name.removeprefix(PREFIX): _values(table[name]) for name in others if name in used
        }
    else:
        columns = {name: _values(table[name]) for name in others if _can_be_factor(table[name])}
        used = set(columns)
    if columns:
        found["factors"] = list(columns.items())
        found["factor_names"] = None if "factors" in names else list(columns)
    found["left_out"] = [name for name in others if name not in used]
    return found, names


def _parquet(path: Path) -> Any:
    """All columns but the row labels that pandas stores."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        labels = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        return file.read(columns=[n for n in file.schema_arrow.names if n not in labels])


def _latents(names: list[str]) -> list[str]:
    """The numbered columns in their order: of several words the first that has any."""
    matches = [match for name in names if (match := LATENT.fullmatch(name))]
    prefixes = [match[1] for match in matches]
    first = min(prefixes, key=LATENT.pattern.index, default="")
    chosen = [match for match in matches if match[1] == first]
    return [match[0] for match in sorted(chosen, key=lambda match: int(match[2]))]


def _values(column: Any) -> Column:
    values: Column = column.to_numpy()
    return values


def _lists(path: Path, table: Any, name: str) -> Column:
    """A column of lists of the same length: (rows, length)."""
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    column = table[name]
    kind, field = column.type, f"{path.name}, {name}"
    if not (kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)):
        raise WrongInput(field, f"a column of {kind}", "a list of numbers in every row")
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        found = f"lists of {', '.join('nothing' if not n else str(n) for n in lengths[:5])} numbers"
        raise WrongInput(field, found, "a list of the same length in every row")
    flat: Column = pc.list_flatten(column).to_numpy()
    return flat.reshape(-1, lengths[0])


def _can_be_factor(column: Any) -> bool:
    """Whether the cells are numbers, words or truth values, and rows share them or they are
    continuous."""
    import pyarrow.types as kinds

    kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
    words = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_binary(kind)
    if not (words or kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
        return False
    different = len(column.unique().drop_null())
    return different < len(column) or is_continuous(_values(column))
