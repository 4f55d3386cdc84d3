"""Errors in a user's file, on one line that names the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from infra.errors import WrongInput

CANNOT_BE_READ = ", which cannot be read"


@contextmanager
def reading(field: str, name: str, accepted: str) -> Iterator[None]:
    """Every error inside becomes a WrongInput that names the file.

    The readers of formats raise errors of many types at damaged files, and an OSError would be
    reported as one of the cache's disk (data.base.cache).
    """
    try:
        yield
    except (WrongInput, MemoryError):
        raise
    except Exception as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        found = f"{printable(name)}{CANNOT_BE_READ} ({reason or type(error).__name__})"
        raise WrongInput(field, found, accepted) from error


def printable(name: str | os.PathLike[str]) -> str:
    """A file's name that can be printed, even if it is not valid text."""
    return os.fsencode(name).decode(errors="replace")
