"""Options that several commands have; each imports what it needs at its use, so --help is quick."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

from cyclopts import Parameter, Token, convert

Json = Annotated[bool, Parameter(negative="", help="print JSON for a program to read")]


def whole_number(kind: type[int], tokens: Sequence[Token]) -> int:
    """The value of an option. Cyclopts itself would round a fraction without a word."""
    if "." in tokens[0].value:
        raise ValueError
    return cast(int, convert(kind, [tokens[0].value]))


WholeNumber = Annotated[int, Parameter(converter=whole_number)]
DataDir = Annotated[
    str | None, Parameter(help="folder of prepared data [TOLSTOY_DATA, or the user's cache]")
]
MOST_SECONDS = 86_400  # a day
# Of the command `data`, whose module is imported only when it is used.
DATA_HELP = "Data sets: list, fetch, check, export, clean.\n\nExample: tolstoy data list"


def check_every(seconds: float | None, watch: bool) -> None:
    """Raise unless this is a time that --watch can wait between two looks, or none is given."""
    from infra.errors import WrongInput

    if seconds is not None and not (watch and 0 < seconds <= MOST_SECONDS):
        accepted = f"seconds above 0, at most {MOST_SECONDS:,}"
        raise WrongInput("--every", seconds, accepted if watch else "nothing, except with --watch")


def use_folder(data_dir: str | None) -> Path:
    """Use this folder for prepared data, in this process and those that it starts."""
    import os

    from data.base.cache import ENVIRONMENT, folder
    from infra.errors import WrongInput
    from infra.new_file import absolute

    if data_dir is not None:
        if not data_dir.strip():
            raise WrongInput("--data-dir", data_dir, "a folder")
        os.environ[ENVIRONMENT] = str(absolute("--data-dir", data_dir))
    return folder()
