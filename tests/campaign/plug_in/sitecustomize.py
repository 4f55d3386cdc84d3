"""Loses a GPU in mid-step, in the processes that are started with this folder on PYTHONPATH.

Python imports a module of this name at its start. When the file that TOLSTOY_LOSE_GPU names exists,
the first process that trains takes it; from then on each of its steps raises what torch raises.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

MODULE, VARIABLE = "models.training", "TOLSTOY_LOSE_GPU"
MESSAGE = (
    "CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported "
    "at some other API call, so the stacktrace below might be incorrect."
)


class Finder(importlib.abc.MetaPathFinder):
    """Changes the module when it is imported."""

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec and spec.loader
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def change(module: Any) -> None:
    optimise, place, lost = module.TrainingModule.optimise, Path(os.environ[VARIABLE]), []

    def losing(self: Any, step: int) -> Any:
        losses = optimise(self, step)  # the step has changed the weights when the error comes
        with suppress(FileNotFoundError):
            place.rename(f"{place}-{os.getpid()}")
            lost.append(True)
        if lost:
            raise module.torch.AcceleratorError(MESSAGE)
        return losses

    module.TrainingModule.optimise = losing


if VARIABLE in os.environ:
    sys.meta_path.insert(0, Finder())
