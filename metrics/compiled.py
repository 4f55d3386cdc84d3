"""numba's compiler with this project's options and a type that survives it.

Only modules with compiled loops import this one, so that others never wait for numba.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile at the first call; without the interpreter's lock, so that threads run at once."""
    fast: Function = njit(nogil=True, error_model="numpy")(function)
    return fast


def compiled_and_kept(function: Function) -> Function:
    """Likewise, and keep the result beside the source, or else in the user's cache.

    Only for functions that call none of another file: a change there would go unnoticed.
    """
    try:
        fast: Function = njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # neither can be written
        return compiled(function)
    return fast


def compiled_loosely(*freedoms: str) -> Callable[[Function], Function]:
    """Likewise kept; what the compiler may do to be quick costs or saves roundings.

    "contract" rounds a · b + c once; "reassoc" adds in any order, several numbers at a time.
    """

    def compile_one(function: Function) -> Function:
        settings = {"nogil": True, "error_model": "numpy", "fastmath": set(freedoms)}
        try:
            fast: Function = njit(**settings, cache=True)(function)
        except RuntimeError:  # neither can be written
            fast = njit(**settings)(function)
        return fast

    return compile_one
