"""Made-up models of teapots: codes, importances and scores that follow from planted loadings.

Features of a teapot are the sine and cosine of its azimuth and its other factors. Each code is a
sum of features, by loadings that are the more entangled the worse the method is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import data
from metrics.base.dci_scores import importance_scores

FACTORS = data.describe("teapots").factor_names
LARGEST = np.array([2 * np.pi, np.pi / 2, 1, 1, 1])
ROWS = 400  # of a representation
ENTANGLED = {"pca": 0.9, "beta_vae": 0.25, "infogan": 0.1}
Numbers = NDArray[np.float64]


def factors(rows: int = ROWS) -> Numbers:
    """The same for all models."""
    return np.random.default_rng(7).random((rows, len(FACTORS))) * LARGEST


def features(values: Numbers) -> Numbers:
    azimuth = values[:, 0]
    rest = (values[:, 1:] / LARGEST[1:] - 0.5) * np.sqrt(12)
    return np.column_stack([np.sin(azimuth) * 1.4, np.cos(azimuth) * 1.4, rest])


def loadings(method: str, strength: float, seed: int, latents: int) -> Numbers:
    """(latents, features): features are codes in a drawn order, with some of the others mixed in.
    Codes beyond the features are dead; of PCA none is."""
    draws = np.random.default_rng([len(method), int(strength), seed])
    pure = np.zeros((latents, 6))
    places = draws.permutation(latents)[:6]
    pure[places, np.arange(len(places))] = 1
    mixed = draws.normal(size=(latents, 6)) * 0.5
    entangled = ENTANGLED.get(method, 0.4) / (1 + 0.05 * strength)
    if method != "pca":
        mixed *= pure.any(axis=1, keepdims=True)
    return (1 - entangled) * pure + entangled * mixed


def codes(method: str, strength: float, seed: int, latents: int, rows: int = ROWS) -> Numbers:
    """The means of the representation, with some noise."""
    draws = np.random.default_rng(seed)
    signal = features(factors(rows)) @ loadings(method, strength, seed, latents).T
    return signal + draws.normal(0, 0.05, signal.shape)


def importance(metric: str, *model: Any) -> Numbers:
    """R, (latents, factors), of codes that are loadings of features: columns of forests sum to 1,
    and a lasso knows of the azimuth only what falls with it, its sine."""
    sizes = np.abs(loadings(*model))
    if metric == "dci_lasso":
        return np.column_stack([0.7 * sizes[:, 0], sizes[:, 2:]])
    squares = np.column_stack([np.square(sizes[:, :2]).sum(axis=1), np.square(sizes[:, 2:])])
    shares: Numbers = squares / squares.sum(axis=0)
    return shares


def scores(metric: str, method: str, strength: float, seed: int, latents: int) -> list[Any]:
    """(part, factor or None, value) of a regressor: what its R gives, and errors."""
    matrix = importance(metric, method, strength, seed, latents)
    rows: list[Any] = [
        (score.part, None if score.factor is None else FACTORS[score.factor], score.value)
        for score in importance_scores(matrix)
    ]
    rows += [
        (f"importance latent {latent}", factor, float(value))
        for latent, row in enumerate(matrix)
        for factor, value in zip(FACTORS, row, strict=True)
    ]
    draws = np.random.default_rng([seed, len(metric)])
    errors = ENTANGLED.get(method, 0.4) * (0.4 + 0.2 * draws.random(len(FACTORS)))
    if metric == "dci_lasso":
        errors = errors + np.array([0.5, 0.2, 0.1, 0.1, 0.1])
    for part, scale in (("nrmse_test", 1.0), ("nrmse_zero_shot", 1.5), ("nrmse_zero_shot_own", 2)):
        rows += [(part, f, float(v)) for f, v in zip(FACTORS, scale * errors, strict=True)]
        rows.append((part, None, float(scale * errors.mean())))
    return rows


def representation(method: str, strength: float, seed: int, latents: int) -> list[dict[str, Any]]:
    has_posterior = method not in ("pca", "infogan")
    means = codes(method, strength, seed, latents).astype(np.float32)
    return [
        {
            "row": place,
            "mean": mean.tolist(),
            "logvar": [-2.0] * latents if has_posterior else None,
            "factors": values.tolist(),
        }
        for place, (mean, values) in enumerate(
            zip(means, factors().astype(np.float32), strict=True)
        )
    ]
