"""Which data sets of a study have factors that are real numbers."""

from __future__ import annotations

from dataclasses import dataclass

import data
from data import DATA_SETS
from tasks.study.data_choice import DataChoice
from tasks.study.spec import Study


@dataclass(frozen=True)
class RealFactors:
    """All factors of a data set of which some are real numbers, in their order."""

    names: tuple[str, ...]
    periodic: tuple[str, ...] = ()


def real_factors(choice: DataChoice) -> RealFactors | None:
    """None where all factors are discrete, or nothing is known of them."""
    if choice.own:
        factors = choice.read.factors if choice.read else ()
        is_any_real = any(values is None for _, values in factors)
        return RealFactors(tuple(name for name, _ in factors)) if is_any_real else None
    if choice.name not in DATA_SETS:
        return None
    described = data.describe(choice.name)
    if not described.continuous:
        return None
    return RealFactors(described.factor_names, described.periodic)


def has_real_factors(study: Study) -> bool:
    return any(real_factors(choice) for choice in study.data)
