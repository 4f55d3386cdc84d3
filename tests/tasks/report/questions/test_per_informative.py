"""The best model for each number of informative latents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tasks.report.questions import Table
from tasks.report.questions.per_informative import answer
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore


def test_planted_numbers(make_store: MakeStore) -> None:
    """Of models 0 to 7 the second of each number is the better one; one is collapsed, and one has
    the highest UDR of all and one latent."""
    grid = Grid(data=("dsprites",), methods={"beta_vae": (1.0, 4.0)}, seeds=4, pictures=False)
    results = read_results(make_store(grid), grid.study())
    models = results.models.copy()
    assert results.udr is not None
    models["informative"] = [3.0, 3.0, 7.0, 7.0, 1.0, 0.0, np.nan, 7.0]
    models[results.udr.id] = [0.1, 0.2, 0.3, 0.4, 0.9, 0.0, np.nan, np.nan]
    planted = answer(replace(results, models=models))
    (table,) = (c for c in planted.content if isinstance(c, Table))
    found: list[list[Any]] = [[cell.value for cell in row.cells] for row in table.rows]
    ids = list(models["model_id"])
    assert [[row[0], row[1], row[2], row[5]] for row in found] == [
        [1, 1, ids[4], 0.9],
        [3, 2, ids[1], 0.2],
        [7, 2, ids[3], 0.4],
    ]
    cells = [row.cells[3].text for row in table.rows]
    assert ["beta_vae-4-redrawn.html" in cells[0], "beta_vae-1-redrawn" in cells[1]] == [True] * 2
    text = planted.content[1].text  # type: ignore[union-attr]
    highest, most = text.split("; of the models with 7 informative latents the best is ")
    assert f"{ids[4]}</code></a> has the highest UDR, 0.90, and 1 informative latent" in highest
    assert f"{ids[3]}</code></a>, with a UDR of 0.40." in most
    models["informative"] = 0.0
    assert answer(replace(results, models=models)).is_missing
