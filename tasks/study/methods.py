"""The methods of a spec: their strengths, and what each of them can be combined with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from infra.errors import WrongInput, one_of
from models import METHODS, NO_STRENGTH, RESNETS
from tasks.study.settings import distinct

Grid = dict[str, tuple[float, ...]]


def checked_methods(grid: Mapping[str, tuple[float, ...]]) -> Grid:
    """The grid; a method without a strength has one cell, whatever the study sweeps beside it."""
    if not grid:
        raise WrongInput("methods", "{}", "at least one of " + ", ".join(METHODS))
    checked = {}
    for name, strengths in grid.items():
        if name not in METHODS:
            raise WrongInput("methods", name, one_of(METHODS, name))
        if METHODS[name].symbol:
            checked[name] = distinct(f"methods.{name}", strengths)
        elif strengths in ((), (NO_STRENGTH,)):
            checked[name] = (NO_STRENGTH,)
        else:
            raise WrongInput(f"methods.{name}", list(strengths), "[], as it has no strength")
    return checked


def check_combinations(
    methods: Sequence[str], architectures: Sequence[str], precision: str, has_traces: bool
) -> None:
    """Raise if a method cannot have one of these settings."""
    for name in methods:
        accepted = METHODS[name].architectures
        for architecture in architectures:
            if accepted and architecture not in accepted:
                text = f"{' or '.join(accepted)}, as methods has {name}"
                raise WrongInput("architecture", architecture, text)
        if not METHODS[name].has_posterior and METHODS[name].has_steps and precision != "float32":
            accepted_precision = f"float32, as methods has {name}"
            raise WrongInput("training.precision", precision, accepted_precision)
    if has_traces:
        for name in methods:
            if not METHODS[name].has_posterior:
                raise WrongInput("traces", f"methods with {name}", "methods that are VAEs")
        for architecture in architectures:
            if architecture in RESNETS:
                accepted_here = "architecture paper or library, whose decoders have the layers"
                raise WrongInput("traces", f"architecture {architecture}", accepted_here)
