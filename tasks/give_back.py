"""Give memory back to the system after a task.

While a task runs, a worker keeps the memory that it frees, which saves a quarter of a training step
(infra/runtime.py). Kept from one task to the next it would only grow: the pieces that stay in use
are scattered in it.
"""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

import pyarrow as pa

from data.base.pixels import forget_pages


def give_back() -> None:
    """Milliseconds; the first call, which sees the objects of all imports, takes longer."""
    gc.collect()  # a Trainer and its model refer to each other
    gc.freeze()  # what remains is modules and caches: the next call need not look at them
    forget_pages()
    trim()


def trim() -> None:
    """Give back only what is free already. A task calls it after a stage that comes once."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
