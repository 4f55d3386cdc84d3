"""Options that several commands have; each imports what it needs at its use, so --help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Json = Annotated[bool, Parameter(negative="", help="print JSON for a program to read")]
DataDir = Annotated[
    str | None, Parameter(help="folder of prepared data [TOLSTOY_DATA, or the user's cache]")
]
# Of the command `data`, whose module is imported only when it is used.
DATA_HELP = "Data sets: list, fetch, check, export, clean.\n\nExample: tolstoy data list"


def use_folder(data_dir: str | None) -> Path:
    """Use this folder for prepared data, in this process and those that it starts."""
    import os

    from data.base.cache import ENVIRONMENT, folder
    from infra.errors import WrongInput

    if data_dir is not None:
        if not data_dir.strip():
            raise WrongInput("--data-dir", data_dir, "a folder")
        os.environ[ENVIRONMENT] = str(Path(data_dir).expanduser().absolute())
    return folder()
