"""Read a table of text whose cells are separated by commas, semicolons or tabs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from infra.errors import WrongInput

SEPARATORS = (",", ";", "\t")
LONGEST_HEADER = 2**20  # characters
MOST_COLUMNS = 10_000
QUOTED = re.compile(r'"[^"]*"')
NUMBER = re.compile(r"\s*[-+]?(\d+|\d*,\d+)([eE][-+]?\d+)?\s*")  # perhaps with a decimal comma


def read(path: Path) -> Any:
    """A pyarrow table, its columns named by the first line; an empty cell is a missing value.

    The first line shows the separator. There may be spaces around names, and a # before the first,
    as numpy's savetxt writes it. Programs that separate by semicolons may write numbers with a
    decimal comma.
    """
    separator = _separator(path)
    check_columns(path, _header(path).count(separator) + 1)
    table = _read(path, separator)
    if separator != "," and any(map(_has_decimal_commas, table.columns)):
        table = _read(path, separator, decimal_point=",")
    first, *others = (name.strip() for name in table.column_names)
    return table.rename_columns([first.removeprefix("#").strip(), *others])


def _separator(path: Path) -> str:
    """The one that the first line has; a comma if it has several, or none. Of .tsv it is a tab."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    header = _header(path)
    present = [separator for separator in SEPARATORS if separator in header]
    return present[0] if present else ","


def _header(path: Path) -> str:
    """The first line, without names in quotes."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        line = file.readline(LONGEST_HEADER)
    if len(line) == LONGEST_HEADER:
        raise ValueError(f"a first line of more than {LONGEST_HEADER:,} characters")
    return QUOTED.sub("", line)


def check_columns(path: Path, count: int) -> None:
    """Raise if a table has so many columns that reading it takes far more memory than it holds."""
    if count > MOST_COLUMNS:
        found, accepted = f"{count:,} columns", f"at most {MOST_COLUMNS:,}, or arrays in an .npz"
        raise WrongInput(f"{path.name}, columns", found, accepted)


def _read(path: Path, separator: str, **conversion: str) -> Any:
    from pyarrow import csv

    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter=separator),
        convert_options=csv.ConvertOptions(strings_can_be_null=True, **conversion),
    )


def _has_decimal_commas(column: Any) -> bool:
    """Whether all cells are numbers that were read as words, as some have a decimal comma."""
    import pyarrow.types as kinds

    is_text = kinds.is_string(column.type)
    return is_text and all(map(NUMBER.fullmatch, column.drop_null().unique().to_pylist()))
