"""Codes and factors in a table: Parquet or CSV, with a column for each latent and factor.

Codes are a column `codes` of lists, or columns with a number: codes_0, codes_1 ... or z0, z1 ...
Factors are a column `factors` of lists, or columns named factor_NAME. Other columns are left out
then. If there are no such columns, all others are factors, but those that cannot be: a row's
number or file name, which no other row shares, dates, lists, columns without a name, and names
that differ from those of codes in case only. Each column that is left out has a reason.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base import csv_table, parquet_file
from data.base.continuous import is_continuous
from infra.errors import WrongInput

LATENT = re.compile(r"(codes_|code_|latents_|latent_|z_|z)(\d+)")
PREFIX = "factor_"
TEXT_TABLES = (".csv", ".tsv")
UNNAMED = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # as pandas writes and reads an index
NOT_NAMED_SO = "columns named factor_NAME are factors"
INDEX = "an index"
UPPER_CASE = "names of codes and factors are in lower case"
GAP_NAMED = 5
Column = NDArray[Any]


def read(path: Path) -> tuple[dict[str, Any], list[str]]:
    """What the table has of `codes`, `factors` (names and columns) and `factor_names`; the columns
    that are `left_out`, each with its reason, and a `gap` in the numbers of the codes; then the
    names of all columns."""
    table = csv_table.read(path) if path.suffix.lower() in TEXT_TABLES else _parquet(path)
    names: list[str] = table.column_names
    unnamed = {name: INDEX for name in names if UNNAMED.fullmatch(name)}
    table = table.select([place for place, name in enumerate(names) if name not in unnamed])
    named: list[str] = table.column_names
    if twice := [name for name, count in Counter(named).items() if count > 1]:
        raise WrongInput(f"{path.name}, columns", f"{', '.join(twice)} twice", "each name once")
    latents = _latents(named)
    code_columns = ["codes"] if "codes" in named else latents
    others = [name for name in named if name not in code_columns]
    content: dict[str, Any] = {}
    if code_columns == ["codes"]:
        content["codes"] = _lists(path, table, "codes")
    elif code_columns:
        place = {name: i for i, name in enumerate(named)}  # pyarrow would look at all names
        columns_of_codes = [_values(table.column(place[name])) for name in code_columns]
        content["codes"] = np.stack(columns_of_codes, axis=1)
    columns: dict[str, Column]
    prefixed = [name for name in others if name.startswith(PREFIX)]
    given = ["factors"] if "factors" in named else prefixed
    reasons = {name: _reason(table[name], name, code_columns, prefixed, given) for name in others}
    used = given or [name for name in others if not reasons[name]]
    if "factors" in named:
        values = _lists(path, table, "factors")
        columns = {f"factor {place}": column for place, column in enumerate(values.T)}
    else:
        columns = {name.removeprefix(PREFIX): _values(table[name]) for name in used}
    if columns:
        content["factors"] = list(columns.items())
        content["factor_names"] = None if "factors" in named else list(columns)
    content["left_out"] = unnamed | {name: reasons[name] for name in others if name not in used}
    content["gap"] = _gap(code_columns)
    return content, names


def _reason(
    column: Any, name: str, code_columns: list[str], prefixed: list[str], given: list[str]
) -> str:
    """Why a column that is no code is no factor, unless it is `given` as one; empty if it can be
    one."""
    if _differs_in_case(name, code_columns, prefixed):
        return UPPER_CASE
    if _counts_rows(column):
        return INDEX
    return NOT_NAMED_SO if given else _no_factor(column)


def _differs_in_case(name: str, code_columns: list[str], prefixed: list[str]) -> bool:
    """Whether in lower case it would be named like these codes or factors."""
    if name == (lower := name.lower()):
        return False
    prefixes = {match[1] for code in code_columns if (match := LATENT.fullmatch(code))}
    match = LATENT.fullmatch(lower)
    return (bool(prefixed) and lower.startswith(PREFIX)) or (
        match is not None and match[1] in prefixes
    )


def _gap(code_columns: list[str]) -> str:
    """`no codes_3 between codes_0 and codes_9`; empty if no number is missing."""
    matches = [match for name in code_columns if (match := LATENT.fullmatch(name))]
    numbers = {int(match[2]) for match in matches}
    if not numbers or (missing := max(numbers) - min(numbers) + 1 - len(numbers)) < 1:
        return ""
    absent = (n for n in range(min(numbers), max(numbers)) if n not in numbers)
    first = ", ".join(f"{matches[0][1]}{number}" for number in islice(absent, GAP_NAMED))
    more = ", ..." if missing > GAP_NAMED else ""
    return f"no {first}{more} between {code_columns[0]} and {code_columns[-1]}"


def _parquet(path: Path) -> Any:
    """All columns but the row labels that pandas stores."""
    with parquet_file.opened(path) as file:
        labels = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        names = [n for n in file.schema_arrow.names if n not in labels]
        csv_table.check_columns(path, len(names))
        return file.read(columns=names)


def _latents(names: list[str]) -> list[str]:
    """The numbered columns in their order: of several words the first that has any."""
    matches = [match for name in names if (match := LATENT.fullmatch(name))]
    prefixes = [match[1] for match in matches]
    first = min(prefixes, key=LATENT.pattern.index, default="")
    chosen = [match for match in matches if match[1] == first]
    return [match[0] for match in sorted(chosen, key=lambda match: int(match[2]))]


def _values(column: Any) -> Column:
    return parquet_file.values(column)


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


def _counts_rows(column: Any) -> bool:
    """Whether it holds whole numbers, each the one before plus 1."""
    import pyarrow.types as kinds

    if not kinds.is_integer(column.type) or column.null_count or len(column) < 2:
        return False
    return bool((np.diff(_values(column).astype(np.int64)) == 1).all())


def _no_factor(column: Any) -> str:
    """A reason, unless the cells are numbers, words or truth values, and rows share them or they
    are continuous."""
    import pyarrow.types as kinds

    kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
    words = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_binary(kind)
    if not (words or kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
        return f"neither numbers nor words but {kind}"
    different = len(column.unique().drop_null())
    if different < len(column) or is_continuous(_values(column)):
        return ""
    return "another value in each row"
