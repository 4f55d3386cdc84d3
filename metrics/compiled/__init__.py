"""numba's compiler with this project's options and a type that survives it.

Only modules with compiled loops import this one, so that others never wait for numba.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(*freedoms: str) -> Callable[[Function], Function]:
    """Compile without the interpreter's lock, so that threads run at once, and cache the result.

    The cache is next to the source, or else in the user's cache folder, if either can be written.
    Only for functions that call none of another file: the cache would not notice a change there.

    `freedoms` is what the compiler may do to be fast, which changes roundings: "contract" rounds
    a · b + c once; "reassoc" adds in any order, several numbers at a time.
    """

    def compile_one(function: Function) -> Function:
        settings = {"nogil": True, "error_model": "numpy", "fastmath": set(freedoms)}
        try:
            fast: Function = njit(**settings, cache=True)(function)
        except RuntimeError:  # neither can be written
            fast = njit(**settings)(function)
        return fast

    return compile_one
