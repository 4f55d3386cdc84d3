"""Table 1 of Carbonneau et al. 2022, section 5.4: modular representations that are not compact.

All 17 columns of its 3 rows as the review computed them, on its 20,000 points: 50 are the published
numbers within 0.05, and so is the other one with the error of the review's code in it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from flows.benchmarks import as_review, as_study
from flows.benchmarks.as_review import COLUMNS
from flows.benchmarks.experiments import POINTS, not_compact

CIRCLE, TWO, FOUR = "θ→[cos θ, sin θ]", "θ→[θ, θ]", "θ→[θ, θ, θ, θ]"
PUBLISHED = {  # the rows of Table 1, in the order of its columns
    CIRCLE: (1.0, 1.0, 1.0, 0.8, 0.8, 1.0, 0.6, 1.0, 0.7, 1.0, 1.0, 0.6, 0.0, 0.7, 0.4, 1.0, 0.6),
    TWO: (1.0, 1.0, 1.0, 0.9, 1.0, 1.0, 1.0, 1.0, 0.7, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5, 1.0, 1.0),
    FOUR: (1.0, 1.0, 1.0, 0.9, 1.0, 1.0, 1.0, 1.0, 0.4, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5, 1.0, 1.0),
}
ERROR = (CIRCLE, "DCI Lasso Modularity")  # see test_the_error_in_the_released_code
# How `tolstoy score` differs where it does by more than 0.1, and why
AS_STUDY = {
    (CIRCLE, "DCI Lasso Explicitness"): 0.77,  # 1 - 6 · MSE of binned factors, not 1 - 12 · MSE
    (CIRCLE, "SAP"): 0.07,  # a linear classifier of bins, not a regression of values
    (TWO, "Explicitness Score"): 0.56,  # each value alone; not divided by the sum over values
    (FOUR, "Explicitness Score"): 0.56,
}


@cache
def representations(
    points: int = POINTS, repeat: int = 0
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {str(name): (codes, values) for name, codes, values in not_compact(points, repeat)}


def points_of(metric: str) -> int:
    return 4000 if metric == "dci_forest" else POINTS  # forests take longest


@cache
def measured(row: str, metric: str) -> dict[tuple[str, str], float]:
    columns = [column for column in COLUMNS.values() if column[0] == metric]
    return as_review.scores(*representations(points_of(metric))[row], columns, seed=0)


@pytest.mark.parametrize("column", as_study.COLUMNS)
@pytest.mark.parametrize("row", PUBLISHED)
def test_scores_are_the_published_ones(row: str, column: str) -> None:
    published = dict(zip(as_study.COLUMNS, PUBLISHED[row], strict=True))[column]
    value = measured(row, COLUMNS[column][0])[COLUMNS[column]]
    if (row, column) == ERROR:
        assert value == pytest.approx(0.97, abs=0.02)
    else:
        assert value == pytest.approx(published, abs=0.05)


def test_the_error_in_the_released_code() -> None:
    """cos θ tells nothing of θ linearly: its weight is exactly 0 in one repeat of four or so. Where
    that is the first latent, the loop over latents ends before any has counted. The published 0.8
    is a mean over 100 repeats, of which about a fifth are 0; ours over 24 is 0.74 ± 0.09."""
    columns = [COLUMNS["DCI Lasso Modularity"], COLUMNS["DCI Lasso Modularity, released"]]
    right, released = [], []
    for repeat in range(12):
        codes, values = representations(5000, repeat)[CIRCLE]
        scores = as_review.scores(codes, values, columns, seed=repeat)
        right.append(scores[columns[0]])
        released.append(scores[columns[1]])
    assert min(right) > 0.9
    assert {value for value in released if value < 0.9} == {0}
    error = np.std(released, ddof=1) / np.sqrt(len(released))
    assert np.mean(released) == pytest.approx(0.8, abs=2 * error)
    assert np.mean(right) - 0.8 > 0.1


@pytest.mark.parametrize(("row", "column"), AS_STUDY)
def test_a_study_differs_where_its_definition_does(row: str, column: str) -> None:
    published = dict(zip(as_study.COLUMNS, PUBLISHED[row], strict=True))[column]
    codes, values = representations()[row]
    metric, part = as_study.COLUMNS[column]
    value = as_study.scores(codes, values, [(metric, part)], seed=0, sets=1000)[metric, part]
    assert abs(value - published) > 0.1, "no difference any more"
    assert value == pytest.approx(AS_STUDY[row, column], abs=0.03)


def test_the_text_s_scale_of_informativeness_is_not_the_published_one() -> None:
    column = COLUMNS["DCI Lasso Explicitness, text"]
    assert measured(CIRCLE, "dci_lasso")[column] == pytest.approx(0.80, abs=0.02)


def test_the_representations_are_those_of_the_text() -> None:
    shapes = {name: (c.shape[1], f.shape[1]) for name, (c, f) in representations().items()}
    assert shapes == {CIRCLE: (8, 4), TWO: (8, 4), FOUR: (8, 2)}
    codes, values = representations()[CIRCLE]
    assert codes[:, ::2] ** 2 + codes[:, 1::2] ** 2 == pytest.approx(np.ones(values.shape))
    angles = np.arctan2(codes[:, 1::2], codes[:, ::2]) % (2 * np.pi)
    assert angles == pytest.approx(2 * np.pi * values)
    for name, copies in ((TWO, 2), (FOUR, 4)):
        codes, values = representations()[name]
        for latent in range(8):
            assert (codes[:, latent] == codes[:, latent - latent % copies]).all()
            assert codes[:, latent] == pytest.approx(2 * np.pi * values[:, latent // copies])
