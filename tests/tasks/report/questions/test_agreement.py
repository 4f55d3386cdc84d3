"""Agreement of scores, of data sets and with losses, where the answer is planted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from tasks.report.questions import Sentence, Table
from tasks.report.questions.across_data import _of_metric, cell_medians
from tasks.report.questions.agreement import _of_data_set
from tasks.report.questions.unlabelled_choice import of_data_set as of_losses
from tasks.report.results import Column

A, B, C, D = (Column(name, name.upper()) for name in "abcd")
LESS = Column("e", "E", direction=-1)


def models_of(seeds: int, data: tuple[str, ...] = ("dsprites",)) -> pd.DataFrame:
    keys = product(data, ("beta_vae", "factor_vae"), (1.0, 2.0, 4.0), range(seeds))
    models = pd.DataFrame(keys, columns=["data", "method", "strength", "seed"])
    return models.assign(source="redrawn")


def values(table: Table) -> dict[tuple[str, str], object]:
    return {
        (row.cells[0].text, heading.text): cell.value
        for row in table.rows
        for heading, cell in zip(table.headings[1:], row.cells[1:], strict=True)
    }


def test_scores_that_order_models_alike_agree() -> None:
    draws = np.random.default_rng(0)
    models = models_of(300)
    models[A.id] = draws.normal(size=len(models))
    models[B.id] = np.exp(models[A.id])
    models[C.id] = -models[A.id]
    models[D.id] = draws.normal(size=len(models))
    models[LESS.id] = 7 - models[A.id]
    sentence, table = _of_data_set("dsprites", models, [A, B, C, D, LESS])
    rho = values(table)
    assert rho["A", "B"] == pytest.approx(1) and rho["A", "C"] == pytest.approx(-1)
    assert rho["A", "E"] == pytest.approx(1), "less is better: its sign is reversed"
    assert abs(float(str(rho["A", "D"]))) < 3 / np.sqrt(len(models))
    for one, other in product("ABCDE", repeat=2):
        assert rho[one, other] == pytest.approx(rho[other, one])
    assert sentence.kind == "finding" and "agree most, ρ = 1.00" in sentence.text
    assert "agree least, ρ = −1.00" in sentence.text
    shades = {cell.text: cell.style for row in table.rows for cell in row.cells[1:]}
    assert (shades["1.00"], shades["−1.00"]) == ("more-5", "less-5")


def test_data_sets_are_compared_by_the_medians_of_cells() -> None:
    """Medians of the second data set: one swap of neighbours among 6 ranks, 1 - 6·2 / (6·35)."""
    models = models_of(3, ("dsprites", "cars3d"))
    place = models["method"].map({"beta_vae": 0, "factor_vae": 3}) + np.log2(models["strength"])
    swapped = place.replace({0.0: 1.0, 1.0: 0.0})
    models[A.id] = np.where(models["data"] == "cars3d", swapped, place)
    outlying = (models["seed"] == 2) & (models["data"] == "dsprites")
    models.loc[outlying, A.id] = -10 * place[outlying]  # means would be in the other order
    medians = cell_medians(models, A)
    assert medians.shape == (6, 2)
    sentence, table = _of_metric(A, medians)
    assert values(table)["Cars3D", "dSprites"] == pytest.approx(1 - 12 / 210)
    assert sentence.text.startswith("<b>A</b>: dSprites and Cars3D agree most, ρ = 0.94 (")


def test_losses_are_compared_with_scores_as_they_are() -> None:
    models = models_of(10)
    models[A.id] = np.arange(len(models), dtype=float)
    models["reconstruction"] = -models[A.id]
    models["kl"] = np.nan
    quantities = {"reconstruction": "Reconstruction error", "kl": "KL"}
    sentence, table = of_losses("dsprites", models, quantities, [A])
    assert isinstance(sentence, Sentence) and isinstance(table, Table)
    assert values(table) == {("Reconstruction error", "A"): pytest.approx(-1)}
    assert "Reconstruction error with A, ρ = −1.00" in sentence.text
