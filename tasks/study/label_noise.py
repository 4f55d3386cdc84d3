"""Which factors have label noise: what a spec says in `metrics.label_noise`, for each data set.

A regime of noise is p by the names of factors (metrics/base/label_noise.py says what p means). A
name is that of a factor, or the words before an underscore that several factors' names begin with:
`position` is position_x and position_y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from infra.errors import WrongInput, one_of
from metrics import HEADLINE, LABEL_NOISE
from metrics.base.label_noise import FactorKind, Noise
from tasks.study.settings import distinct

if TYPE_CHECKING:
    from data.base.protocol import DataSet, Description

# Holtz et al. 2022, Table 2: its noise models 1, 2 and 3
REGIMES: dict[str, dict[str, float]] = {
    "low": {"shape": 0.05, "scale": 0.1, "orientation": 0.05, "position": 0.05},
    "medium": {"shape": 0.1, "scale": 0.2, "orientation": 0.1, "position": 0.1},
    "high": {"shape": 0.3, "scale": 0.3, "orientation": 0.3, "position": 0.3},
}
OWN = "own"  # the name of the regime that a spec describes itself
FIELD = "metrics.label_noise"
ACCEPTED = f"names of regimes ({', '.join(REGIMES)}), and p by factor: {{shape: 0.05}}"

Regimes: TypeAlias = tuple[str | dict[str, float], ...]


def checked_regimes(raw: Any) -> Regimes:
    """A name, a mapping, or a list of names and one mapping, in the order of REGIMES."""
    if raw is None:
        return ()
    listed = list(raw) if isinstance(raw, list | tuple) else [raw]
    for regime in listed:
        if isinstance(regime, Mapping):
            _check_probabilities(regime)
        elif not isinstance(regime, str):
            raise WrongInput(FIELD, regime, ACCEPTED)
        elif regime not in REGIMES:
            raise WrongInput(FIELD, regime, f"{one_of(REGIMES, regime)}, or p by factor")
    names = distinct(FIELD, tuple(name for name in listed if isinstance(name, str)), empty=True)
    own = [dict(regime) for regime in listed if isinstance(regime, Mapping)]
    if len(own) > 1:
        raise WrongInput(FIELD, f"{len(own)} mappings", "at most one, and names of regimes")
    return (*(name for name in REGIMES if name in names), *own)


def _check_probabilities(regime: Mapping[Any, Any]) -> None:
    if not regime:
        raise WrongInput(FIELD, "{}", "p of at least one factor, as {shape: 0.05}")
    for factor, p in regime.items():
        if not isinstance(factor, str):
            raise WrongInput(FIELD, factor, "names of factors")
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
            raise WrongInput(f"{FIELD}.{factor}", p, "a number from 0 to 1")


def regimes_by_name(regimes: Regimes) -> dict[str, Mapping[str, float]]:
    """p by factor of each regime, by its name."""
    return {
        regime if isinstance(regime, str) else OWN: (
            REGIMES[regime] if isinstance(regime, str) else regime
        )
        for regime in regimes
    }


def check_factors(regimes: Regimes, factors: Sequence[Sequence[str]]) -> None:
    """Raise where no data set, by the names of its factors, has what a regime names."""
    known = list(dict.fromkeys(name for names in factors for name in names))
    for regime, of_factor in regimes_by_name(regimes).items():
        missing = [key for key in of_factor if not any(_covers(key, name) for name in known)]
        if missing and (regime == OWN or len(missing) == len(of_factor)):
            accepted = ", ".join(known) or "data sets with factors"
            raise WrongInput(FIELD, ", ".join(missing), f"factors of the study's data: {accepted}")


def _covers(key: str, factor: str) -> bool:
    return factor == key or factor.startswith(f"{key}_")


def noise_of(data_set: DataSet | Description, of_factor: Mapping[str, float]) -> dict[int, Noise]:
    """The noise of a data set's factors, by their places. Of several names that cover a factor the
    longest counts."""
    noise = {}
    for place, name in enumerate(data_set.factor_names):
        if keys := [key for key in of_factor if _covers(key, name)]:
            p = of_factor[max(keys, key=len)]
            noise[place] = Noise(data_set.factor_sizes[place], _kind(data_set, name), p)
    return noise


def _kind(data_set: DataSet | Description, factor: str) -> FactorKind:
    if factor in data_set.categorical:
        return "categorical"
    return "periodic" if factor in data_set.periodic else "ordered"


def noise_by_regime(
    regimes: Regimes, data_set: DataSet | Description
) -> dict[str, dict[int, Noise]]:
    """The noise of a data set's factors by regime. Regimes that name none of them are left out."""
    of_regimes = {
        name: noise_of(data_set, of_factor) for name, of_factor in regimes_by_name(regimes).items()
    }
    return {name: noise for name, noise in of_regimes.items() if noise}


def noisy_part(regime: str) -> str:
    """The part of a metric's scores that is its headline under label noise."""
    return f"{HEADLINE}{LABEL_NOISE}{regime}"
