"""Theorem 1: its matrix and its map, by the paper's own numbers and by differences."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import kstest

from flows.cli import main
from tasks.theorem import entangled, householder, slopes


def test_the_matrix_of_two_factors_is_the_papers() -> None:
    root = math.sqrt(0.75)
    assert householder(2) == pytest.approx(np.array([[0.5, -root], [-root, -0.5]]))


@pytest.mark.parametrize("factors", [2, 3, 7])
@pytest.mark.parametrize("alpha", [0.01, 0.25, 0.49])
def test_the_matrix_is_orthogonal_its_own_inverse_and_has_no_zero(
    factors: int, alpha: float
) -> None:
    matrix = householder(factors, alpha)
    assert matrix @ matrix.T == pytest.approx(np.eye(factors), abs=1e-12)
    assert matrix @ matrix == pytest.approx(np.eye(factors), abs=1e-12)
    assert np.abs(matrix).min() > 1e-3


def test_the_map_keeps_the_distribution_and_undoes_itself() -> None:
    u = np.random.default_rng(1).uniform(size=(20_000, 3))
    matrix = householder(3)
    codes = entangled(u, matrix)
    assert entangled(codes, matrix) == pytest.approx(u, abs=1e-6)
    for latent in codes.T:
        assert kstest(latent, "uniform").statistic < 1.5 * 1.36 / math.sqrt(len(u))
    normal_correlation = np.corrcoef(codes.T) - np.eye(3)
    assert np.abs(normal_correlation).max() < 4 / math.sqrt(len(u))


def test_every_latent_changes_with_every_factor() -> None:
    u = np.random.default_rng(2).uniform(0.05, 0.95, size=(50, 3))
    matrix, step = householder(3), 1e-6
    of_points = slopes(u, matrix)
    assert of_points.min() > 1e-4
    for factor in range(3):
        moved = u.copy()
        moved[:, factor] += step
        change = np.abs(entangled(moved, matrix) - entangled(u, matrix)) / step
        assert of_points[:, :, factor] == pytest.approx(change, rel=1e-3)


def test_alpha_has_bounds() -> None:
    for alpha in (0.0, 0.5):
        with pytest.raises(ValueError, match="alpha"):
            householder(3, alpha)


def test_what_needs_no_labels_is_equal_and_every_metric_falls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "theorem", "--size", "3000", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    for name in ("largest correlation of two latents", "total correlation"):
        assert rows[name]["perfect"] == pytest.approx(rows[name]["entangled"], abs=0.05)
    fell = {name: row["perfect"] - row["entangled"] for name, row in rows.items() if "_" in name}
    assert {"beta_vae", "factor_vae", "dci_lasso", "mig_sup"} <= fell.keys()
    assert rows["mig"]["perfect"] > 0.95 and rows["mig"]["entangled"] < 0.3
    assert rows["dci"]["perfect"] > 0.95 and rows["dci"]["entangled"] < 0.6
    assert rows["sap"]["perfect"] > rows["sap"]["entangled"] + 0.05
    assert rows["jemmig"]["perfect"] < rows["jemmig"]["entangled"], "less is better"
    assert main(["bench", "theorem", "--size", "10"]) == 2
    assert "--size: found 10; accepted: a number of points from 1000" in capsys.readouterr().err
