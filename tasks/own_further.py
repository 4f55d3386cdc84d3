"""Further rows in a user's own file.

Validation rows, on which DCI with lasso and forest choose their penalty and depth, and zero-shot
rows, whose error they report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.errors import WrongInput
from metrics.base.arrays import Codes
from metrics.base.predictors import RealRows, RealTables, check_real_rows

SPLITS = ("validation", "zero_shot")
NAMES = tuple(f"{split}_{array}" for split in SPLITS for array in ("codes", "factors"))


def further_rows(
    path: Path, arrays: dict[str, Any], codes: Codes, columns: list[NDArray[Any]]
) -> dict[str, RealRows]:
    """By split, the codes and factors of further rows, with the columns of `codes` and `factors`; a
    BadArray or a WrongInput names what is wrong with them."""
    rows = {}
    for split in SPLITS:
        names = [f"{split}_codes", f"{split}_factors"]
        missing = [name for name in names if name not in arrays]
        if len(missing) == 2:
            continue
        if missing:
            present = next(name for name in names if name not in missing)
            raise WrongInput(f"{path.name}, {missing[0]}", f"only {present}", "both or neither")
        if any(column.dtype.kind not in "iubf" for column in columns):
            accepted = "numbers, if the file has further rows"
            raise WrongInput(f"{path.name}, factors", "columns of words", accepted)
        latents = codes.astype(np.float64, copy=False)
        targets = np.stack(columns, axis=1).astype(np.float64)
        factors = np.asarray(arrays[names[1]])
        further = (arrays[names[0]], factors[:, None] if factors.ndim == 1 else factors)
        tables = RealTables(latents, targets, latents, targets)
        rows[split] = check_real_rows(split, further, tables)
    return rows
