"""How reading a user's file fails: with one line that names the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from infra.errors import WrongInput


@contextmanager
def reading(field: str, name: str, accepted: str) -> Iterator[None]:
    """Whatever goes wrong with a user's file is one line that names it.

    The readers of formats raise what they like at damaged files, and an OSError that leaves
    here would pass for one of the cache's disk.
    """
    try:
        yield
    except (WrongInput, MemoryError):
        raise
    except Exception as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        found = f"{shown(name)}, which cannot be read ({why or type(error).__name__})"
        raise WrongInput(field, found, accepted) from error


def shown(name: str | os.PathLike[str]) -> str:
    """A file's name that can be printed, also where it is no valid text."""
    return os.fsencode(name).decode(errors="replace")
