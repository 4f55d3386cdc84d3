"""Table 1 of Carbonneau et al. 2022, section 5.4: modular representations that are not compact.

All 17 columns of its 3 rows are measured, on the review's 20,000 points; forests, which take
longest, on 3,000. 46 numbers are the published ones within 0.1, 5 are not and say why. Numbers in
those reasons were measured on the same representations.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from flows.benchmarks.experiments import COLUMNS, POINTS, not_compact, scores

SETS = 1000  # groups and pairs; more change nothing here
CIRCLE, TWO, FOUR = "θ→[cos θ, sin θ]", "θ→[θ, θ]", "θ→[θ, θ, θ, θ]"
PUBLISHED = {  # the rows of Table 1, in the order of its columns
    CIRCLE: (1.0, 1.0, 1.0, 0.8, 0.8, 1.0, 0.6, 1.0, 0.7, 1.0, 1.0, 0.6, 0.0, 0.7, 0.4, 1.0, 0.6),
    TWO: (1.0, 1.0, 1.0, 0.9, 1.0, 1.0, 1.0, 1.0, 0.7, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5, 1.0, 1.0),
    FOUR: (1.0, 1.0, 1.0, 0.9, 1.0, 1.0, 1.0, 1.0, 0.4, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5, 1.0, 1.0),
}
ONE_AGAINST_THE_REST = (
    "no line cuts a middle value off from both sides, so that one classifier per value against the "
    "rest, as the text says, is right about the outer values only. One softmax regression for all "
    "values gives 0.98 (two copies) and 0.95 (four)"
)
EXPLAINED: dict[tuple[str, str], tuple[float, str]] = {  # measured, and why not as published
    (CIRCLE, "DCI Lasso Modularity"): (
        0.98,
        "no penalty gives 0.8, nor lowers modularity without lowering compactness, which is "
        "published as 1.0: from the largest penalty to none, 1.0 to 0.92 and 1.0 to 0.90. Without "
        "DCI's weights per latent, modularity would be between 0.50 and 0.74",
    ),
    (CIRCLE, "DCI Lasso Explicitness"): (
        0.77,
        "1 - 6 · MSE, as the text says. The published 0.6 is 1 - 12 · MSE, which is R²: 0.61",
    ),
    (CIRCLE, "SAP"): (
        0.07,
        "a linear classifier's accuracy, as for discrete factors. The review has the R² of a "
        "regression, whose gap is 0.61",
    ),
    (TWO, "Explicitness Score"): (0.56, ONE_AGAINST_THE_REST),
    (FOUR, "Explicitness Score"): (0.56, ONE_AGAINST_THE_REST),
}


@cache
def representations(points: int = POINTS) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {str(name): (codes, factors) for name, codes, factors in not_compact(points, 0)}


@cache
def measured(row: str, metric: str) -> dict[tuple[str, str], float]:
    points = 3000 if metric == "dci_forest" else POINTS
    return scores(*representations(points)[row], (metric,), SETS, seed=0)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", PUBLISHED)
def test_scores_as_published_or_as_explained(row: str, column: str) -> None:
    published = dict(zip(COLUMNS, PUBLISHED[row], strict=True))[column]
    value = measured(row, COLUMNS[column][0])[COLUMNS[column]]
    if (row, column) in EXPLAINED:
        expected, _ = EXPLAINED[row, column]
        assert abs(value - published) > 0.1, "no exception any more"
        assert value == pytest.approx(expected, abs=0.03)
    else:
        assert value == pytest.approx(published, abs=0.1)


def test_the_representations_are_those_of_the_text() -> None:
    shapes = {name: (c.shape[1], f.shape[1]) for name, (c, f) in representations().items()}
    assert shapes == {CIRCLE: (8, 4), TWO: (8, 4), FOUR: (8, 2)}
    codes, factors = representations()[CIRCLE]
    assert codes[:, ::2] ** 2 + codes[:, 1::2] ** 2 == pytest.approx(np.ones(factors.shape))
    angles = np.arctan2(codes[:, 1::2], codes[:, ::2]) % (2 * np.pi)
    assert (factors == angles // (np.pi / 5)).all()
    for name, copies in ((TWO, 2), (FOUR, 4)):
        codes, factors = representations()[name]
        for latent in range(8):
            assert (codes[:, latent] == codes[:, latent - latent % copies]).all()
            assert (factors[:, latent // copies] == codes[:, latent] // (np.pi / 5)).all()
