"""Lightning, without torchmetrics and torch's compiler.

Lightning imports them for the names below. They import scipy.signal, matplotlib and sympy in turn:
150 MB of every worker's memory, and seconds of its start, for nothing that a training here uses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from types import ModuleType
from typing import Any


def _unchanged(function: Any = None, *_: Any, **settings: Any) -> Any:
    """A decorator, with settings or without."""
    return _unchanged if function is None else function


@contextmanager
def _standing_in(package: str, **names: Any) -> Iterator[None]:
    """Until the end of the block, a package that is not imported yet has these names only."""
    if package in sys.modules:
        yield
        return
    module = ModuleType(package)
    number = version(package.partition(".")[0])
    vars(module).update(names, __version__=number, __spec__=ModuleSpec(package, None))
    sys.modules[package] = module
    try:
        yield
    finally:
        del sys.modules[package]


def _nothing(name: str) -> type:
    """A class of which nothing is an instance."""
    return type(name, (), {})


with (
    _standing_in("torchmetrics", **{n: _nothing(n) for n in ("Metric", "MetricCollection")}),
    _standing_in("torch._dynamo", OptimizedModule=_nothing("OptimizedModule"), disable=_unchanged),
):
    from pytorch_lightning import LightningModule, Trainer

__all__ = ["LightningModule", "Trainer"]
