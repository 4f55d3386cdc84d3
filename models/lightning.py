"""Lightning, without the package torchmetrics.

Lightning imports it for the names of two classes. It imports scipy.signal and matplotlib in turn:
77 MB of every worker's memory, and a second of its start, for nothing that a training here uses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from types import ModuleType

TORCHMETRICS = "torchmetrics"


@contextmanager
def _named_only(package: str, *classes: str) -> Iterator[None]:
    """Until the end of the block, a package that has not been imported is its version and empty
    classes."""
    if package in sys.modules:
        yield
        return
    names = {name: type(name, (), {}) for name in classes}
    empty = ModuleType(package)
    vars(empty).update(names, __version__=version(package), __spec__=ModuleSpec(package, None))
    sys.modules[package] = empty
    try:
        yield
    finally:
        del sys.modules[package]


with _named_only(TORCHMETRICS, "Metric", "MetricCollection"):
    from pytorch_lightning import LightningModule, Trainer

__all__ = ["LightningModule", "Trainer"]
