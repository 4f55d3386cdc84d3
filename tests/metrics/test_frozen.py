"""Every metric's values on frozen arrays, so that no library's new version changes a number unseen.

frozen.npz holds the arrays (codes, factors, groups and all else that metrics read), frozen.json the
values. `python -m tests.metrics.test_frozen` writes both, if a metric's definition changes; raise
the metric's protocol then. The values were compared with independent computations when they were
made, as below.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import mutual_info_score

from metrics import OF_ALL_DATA
from metrics.base.dci_scores import disentanglement
from metrics.base.inputs import Groups, Inputs, Pairs
from metrics.evaluate import evaluate
from tests.metrics.test_irs import by_definition

ARRAYS, VALUES = (Path(__file__).with_name(f"frozen.{ending}") for ending in ("npz", "json"))
# What takes a solver or trees from scikit-learn, or stops before it has converged
FROM_SOLVERS = {"beta_vae", "explicitness", "sap", "dci_forest", "downstream_logistic"}
SOLVERS_DIFFER = 0.02
GROUPED = {"groups": Groups, "pairs": Pairs, "variations": Groups}


def frozen_inputs() -> Inputs:
    with np.load(ARRAYS) as arrays:
        plain = {name: arrays[name] for name in arrays.files if "." not in name}
        grouped = {
            f"{part}_{kind}": made_of(
                **{field.name: arrays[f"{part}_{kind}.{field.name}"] for field in fields(made_of)}
            )
            for kind, made_of in GROUPED.items()
            for part in ("train", "test")
        }
        count = len([name for name in arrays.files if name.startswith("interventions.")])
        interventions = tuple(arrays[f"interventions.{place}"] for place in range(count))
    return Inputs(**plain, **grouped, interventions=interventions)


@cache
def computed(name: str) -> dict[str, float]:
    scores = evaluate(name, frozen_inputs(), np.random.default_rng(7))
    return {f"{row.part} / {row.factor}": row.value for row in scores}


@pytest.mark.parametrize("name", OF_ALL_DATA)
def test_values_are_the_frozen_ones(name: str) -> None:
    frozen = json.loads(VALUES.read_text(encoding="utf-8")).get(name)
    assert frozen, "a new metric: python -m tests.metrics.test_frozen writes its values"
    tolerance = SOLVERS_DIFFER if name in FROM_SOLVERS else 1e-9
    assert computed(name) == pytest.approx(frozen, abs=tolerance, rel=tolerance)


def test_mig_is_that_of_scikit_learns_mutual_information() -> None:
    inputs = frozen_inputs()
    edges = [np.histogram(latent, 20)[1][:-1] for latent in inputs.codes.T]
    bins = [np.digitize(latent, e) for latent, e in zip(inputs.codes.T, edges, strict=True)]
    gaps = []
    for factor in inputs.factors.T:
        second, best = sorted(mutual_info_score(factor, latent) for latent in bins)[-2:]
        gaps.append((best - second) / mutual_info_score(factor, factor))
    assert computed("mig")["score / None"] == pytest.approx(np.mean(gaps), abs=1e-12)


def test_irs_is_that_of_its_definition_in_loops() -> None:
    inputs = frozen_inputs()
    binned = [np.digitize(f, np.histogram(f, 20)[1][:-1]) for f in inputs.factors.T]
    codes = inputs.codes.astype(float)
    score, _ = by_definition(codes, np.stack(binned, axis=1), 0.99, weighted=False)
    assert computed("irs")["score / None"] == pytest.approx(score, abs=1e-12)


def test_dci_is_that_of_scikit_learns_trees() -> None:
    """Within what a seed decides there."""
    inputs = frozen_inputs()
    scores = []
    for seed in range(3):
        fits = [
            GradientBoostingClassifier(random_state=seed).fit(inputs.codes, factor)
            for factor in inputs.factors.T
        ]
        scores.append(disentanglement(np.stack([f.feature_importances_ for f in fits], axis=1))[0])
    assert computed("dci")["score / None"] == pytest.approx(np.mean(scores), abs=0.005)


def made_up() -> Iterator[tuple[str, np.ndarray]]:
    """Factors of 3, 7 and 25 values, mixed into four latents of which the last is noise."""
    rng = np.random.default_rng(20261119)
    mixing = np.array([[1, 0.4, 0, 0], [0.1, -1, 0.2, 0], [0, 0.3, 0.5, 0]])

    def table(*shape: int) -> tuple[np.ndarray, np.ndarray]:
        factors = rng.integers((3, 7, 25), size=(*shape, 3))
        codes = (factors / [1, 2, 5]) @ mixing + 0.4 * rng.normal(size=(*shape, 4))
        return codes.astype(np.float32), factors

    def with_equal(count: int, size: int, varied: bool) -> tuple[np.ndarray, np.ndarray]:
        """Groups that share one factor, or all but one."""
        chosen = rng.integers(3, size=count)
        _, factors = table(count, size)
        for group, factor in enumerate(chosen):
            others = [place for place in range(3) if (place == factor) is not varied]
            factors[group][:, others] = factors[group, 0, others]
        noise = 0.4 * rng.normal(size=(count, size, 4))
        return ((factors / [1, 2, 5]) @ mixing + noise).astype(np.float32), chosen

    yield from zip(("codes", "factors"), table(400), strict=True)
    yield from zip(("test_codes", "test_factors"), table(200), strict=True)
    for part, count in (("train", 120), ("test", 60)):
        for kind, varied in (("groups", False), ("variations", True)):
            codes, factor = with_equal(count, 12, varied)
            yield f"{part}_{kind}.codes", codes
            yield f"{part}_{kind}.factor", factor
        both, factor = with_equal(count, 24, False)
        yield f"{part}_pairs.first", both[:, :12]
        yield f"{part}_pairs.second", both[:, 12:]
        yield f"{part}_pairs.factor", factor
    for place, size in enumerate((3, 7, 25)):
        _, factors = table(1, 20)
        factors = np.repeat(factors, size, axis=0)
        factors[..., place] = np.arange(size)[:, None]
        noise = 0.4 * rng.normal(size=(size, 20, 4))
        yield f"interventions.{place}", ((factors / [1, 2, 5]) @ mixing + noise).astype(np.float32)
    yield "logvar", rng.normal(-2, 0.5, size=(400, 4)).astype(np.float32)
    yield "reconstruction", rng.uniform(20, 90, size=400)


if __name__ == "__main__":
    np.savez_compressed(ARRAYS, **dict(made_up()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frozen = {name: computed(name) for name in OF_ALL_DATA}
    VALUES.write_text(json.dumps(frozen, indent=1) + "\n", encoding="utf-8")
