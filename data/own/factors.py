"""A user's table of factors: values of any kind become positions in sorted order.

Columns of real numbers that most rows have of their own are continuous, unless the file says
otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.base.continuous import are_continuous
from data.base.protocol import Factors
from data.base.reading import reading
from data.own.columns import READABLE, Columns
from data.own.columns import read as read_columns
from data.own.files import OwnFiles
from infra.errors import WrongInput

FIELD = "data.factors"
KINDS_FIELD = "data.factors, factor_kinds"
MOST_WORDS = 100  # more words are refused if most of them occur only once
VALUES = "whole numbers, true or false, words, or real numbers"

Column = NDArray[Any]
Value = int | float | str


@dataclass(frozen=True)
class FactorTable:
    """Names, sorted values, the position of each row's value, (rows, factors), and the places of
    continuous columns."""

    names: list[str]
    values: list[list[Value]]
    codes: Factors
    continuous: list[int]

    @property
    def categorical(self) -> list[str]:
        """The names of the columns of words. Truth values are the numbers 0 and 1 here, as the same
        table in another format has them."""
        columns = zip(self.names, self.values, strict=True)
        return [name for name, values in columns if any(isinstance(v, str) for v in values)]

    def real(self) -> NDArray[np.float64]:
        """The values of the continuous columns: (rows, continuous factors)."""
        columns = [np.asarray(self.values[i], float)[self.codes[:, i]] for i in self.continuous]
        return np.stack(columns, axis=1) if columns else np.empty((len(self.codes), 0))


def read(files: OwnFiles, count: int) -> FactorTable:
    """The factors of `count` pictures: from the file of factors, else from that of the images."""
    if files.images is not None:
        path = files.path("images" if files.factors is None else "factors")
        with reading(FIELD, path.name, READABLE):
            columns = read_columns(path, count, needed=files.factors is not None)
            return _table(columns, count)
    return _table(Columns([], []), count)


def _table(columns: Columns, count: int) -> FactorTable:
    names = columns.names
    for name in names:
        if not name:
            accepted = "a name for each column (pandas: to_csv(..., index=False))"
            raise WrongInput(FIELD, f"column {names.index(name)} without a name", accepted)
        if names.count(name) > 1:
            raise WrongInput(FIELD, f"columns named {', '.join(map(repr, names))}", "unique names")
    values, codes = [], np.empty((count, len(names)), np.int64)
    for place, (name, column) in enumerate(zip(names, columns.values, strict=True)):
        sorted_values, codes[:, place] = classes(FIELD, name, column)
        values.append(sorted_values)
    continuous = np.flatnonzero(are_continuous(KINDS_FIELD, columns.values, columns.kinds))
    return FactorTable(names, values, codes, continuous.tolist())


def classes(field: str, name: str, column: Column) -> tuple[list[Value], NDArray[np.intp]]:
    """The sorted values of a column, and the position of each row's; `field` is for messages."""
    if column.dtype.kind not in "biufUSO":
        raise WrongInput(field, f"{column.dtype} in column {name}", VALUES)
    if column.dtype.kind == "O":
        return _classes_of_words(field, name, column)
    if column.dtype.kind == "S":
        column = np.array([text(field, word) for word in column.tolist()])
    if column.dtype.kind == "f" and not (finite := np.isfinite(column)).all():
        row = int(np.argmin(finite))
        found = f"{column[row]} in column {name}, row {row} (rows count from 0)"
        raise WrongInput(field, found, "a value in every row")
    values, codes = np.unique(column, return_inverse=True)
    if values.dtype.kind == "U":
        _check_shared(field, name, len(values), len(column))
    return [_plain(value) for value in values], codes


def _check_shared(field: str, name: str, words: int, rows: int) -> None:
    if words > MOST_WORDS and 2 * words > rows:
        found = f"{words} different words in column {name}"
        raise WrongInput(field, found, "words that are shared by rows (drop columns of names)")


def _classes_of_words(
    field: str, name: str, column: Column
) -> tuple[list[Value], NDArray[np.intp]]:
    """The same of a column of objects. An array of words would take for each row as much memory as
    the longest word."""
    words = _words(field, name, column)
    if all(isinstance(word, bool) for word in words):
        return classes(field, name, np.array(words, bool))
    as_text = [str(word) for word in words]
    values = sorted(set(as_text))
    _check_shared(field, name, len(values), len(words))
    place = {word: i for i, word in enumerate(values)}
    return list(values), np.array([place[word] for word in as_text], np.intp)


def text(field: str, word: bytes) -> str:
    """A word of a file; bytes that are no text are refused."""
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise WrongInput(field, word, "words in UTF-8") from None


def _words(field: str, name: str, column: Column) -> list[str | bool]:
    """A column of objects: words, or truth values of which some are missing."""
    for row, value in enumerate(column):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            found = f"nothing in column {name}, row {row} (rows count from 0)"
            raise WrongInput(field, found, "a value in every row")
        if not isinstance(value, str | bytes | bool):
            raise WrongInput(field, f"a {type(value).__name__} in column {name}", VALUES)
    return [text(field, v) if isinstance(v, bytes) else v for v in column]


def _plain(value: Any) -> Value:
    """The value itself, not its type: 1, 1.0 and true are one, and so are all precisions of 0.1."""
    if isinstance(value, np.str_):
        return str(value)
    real = float(str(value)) if isinstance(value, np.floating) else value
    return int(value) if real == int(real) else float(real)
