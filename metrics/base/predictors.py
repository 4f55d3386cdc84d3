"""What metrics that train predictors share: tables, one scale, validation rows, no warnings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.base.arrays import BadArray, Codes, Factors, check, numbers, real_targets

Array: TypeAlias = NDArray[Any]
Rows: TypeAlias = tuple[ArrayLike, ArrayLike]  # codes and factors of the same points

TINY = 1e-150  # squares of smaller numbers underflow
FAR = 1e30  # in standard deviations; float32, in which forests compute, ends at 3e38
SEEDS = 2**31


class Tables(NamedTuple):
    """A training and a test table with the same columns."""

    codes: NDArray[np.float64]
    factors: Factors
    test_codes: NDArray[np.float64]
    test_factors: Factors


class RealTables(NamedTuple):
    """The same with targets, real numbers, in place of factors."""

    codes: NDArray[np.float64]
    targets: NDArray[np.float64]
    test_codes: NDArray[np.float64]
    test_targets: NDArray[np.float64]


class RealRows(NamedTuple):
    """Rows of neither table."""

    codes: NDArray[np.float64]
    targets: NDArray[np.float64]


def check_tables(
    codes: ArrayLike, factors: ArrayLike, test_codes: ArrayLike, test_factors: ArrayLike
) -> Tables:
    """Both tables, codes in float64, or a ValueError."""
    latents, values = check(codes, factors)
    test_latents, test_values = check(test_codes, test_factors)
    _check_columns(latents, values, test_latents, test_values)
    return Tables(
        codes=latents.astype(np.float64),
        factors=values,
        test_codes=test_latents.astype(np.float64),
        test_factors=test_values,
    )


def check_real_tables(
    codes: ArrayLike, targets: ArrayLike, test_codes: ArrayLike, test_targets: ArrayLike
) -> RealTables:
    """Both tables in float64, or a ValueError."""
    latents = numbers("codes", codes, ("row", "column")).astype(np.float64)
    test_latents = numbers("codes", test_codes, ("row", "column")).astype(np.float64)
    values = real_targets("factors", targets, len(latents))
    test_values = real_targets("test_factors", test_targets, len(test_latents))
    _check_columns(latents, values, test_latents, test_values)
    return RealTables(latents, values, test_latents, test_values)


def check_real_rows(name: str, rows: Rows, tables: RealTables) -> RealRows:
    """Further rows with the tables' columns, or a ValueError that begins with their name."""
    codes = numbers(f"{name}_codes", rows[0], ("row", "column")).astype(np.float64)
    targets = real_targets(f"{name}_factors", rows[1], len(codes))
    _check_columns(tables.codes, tables.targets, codes, targets, name)
    return RealRows(codes, targets)


def _check_columns(
    latents: Codes, values: Array, other_latents: Codes, other_values: Array, name: str = "test"
) -> None:
    for field, train, other in (
        (f"{name}_codes", latents, other_latents),
        (f"{name}_factors", values, other_values),
    ):
        if train.shape[1] != other.shape[1]:
            raise BadArray(field, f"{other.shape[1]} columns", f"{train.shape[1]}, as in training")


def standardised(
    train: NDArray[np.float64], *others: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """All with the training columns' mean 0 and variance 1 (n below).

    A column that is constant in training, or differs by less than 1e-150, becomes 0 in all. Other
    values further than 1e30 standard deviations from the mean are taken as that far.
    """
    mean = np.where(train.min(axis=0) < train.max(axis=0), train.mean(axis=0), train[0])
    train = train - mean
    live = np.abs(train).max(axis=0) > TINY
    deviation = np.where(live, train.std(axis=0), 1.0)
    return (
        np.where(live, train / deviation, 0.0),
        *(np.where(live, np.clip((x - mean) / deviation, -FAR, FAR), 0.0) for x in others),
    )


def validation_rows(rows: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """True for one row in five, at least one, drawn without replacement; False for the others."""
    held_out = np.zeros(rows, dtype=np.bool_)
    held_out[rng.permutation(rows)[: max(1, rows // 5)]] = True
    return held_out


@contextmanager
def quiet() -> Iterator[None]:
    """Hides warnings: of few points per value, or of a solver that stops early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
