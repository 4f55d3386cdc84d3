"""numba's compiler for loops over pixels, with a cache on the disk: compiled once per machine.

Only modules with compiled loops import this one, so that others never wait for numba.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile without the interpreter's lock, and cache the result next to the source, or else in
    the user's cache folder, if either can be written.

    Only for functions that call none of another file: the cache would not notice a change there.
    """
    settings = {"nogil": True, "error_model": "numpy"}
    try:
        fast: Function = njit(**settings, cache=True)(function)
    except RuntimeError:  # neither can be written
        fast = njit(**settings)(function)
    return fast
