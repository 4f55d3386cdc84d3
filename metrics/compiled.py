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
