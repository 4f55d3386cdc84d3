import math

import numpy as np
import pytest
from scipy.stats import entropy

from metrics.base.dci_scores import completeness, disentanglement, error_scores, importance_scores
from metrics.base.inputs import Score


def test_worked_example():
    # Latent 0 is for factor 0 only; latent 1 is for both factors alike; latent 2 is for nothing.
    importance = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    # Weights 1/2, 1/2, 0. Factor 0 is 2/3 and 1/3 of two latents, factor 1 is one latent.
    first = 1 + (2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)) / math.log(3)
    scores = importance_scores(importance)
    assert [(row.part, row.factor) for row in scores] == [
        ("score", None),
        ("disentanglement", None),
        ("completeness", None),
        ("completeness_weighted", None),
        ("disentanglement latent 0", None),
        ("disentanglement latent 1", None),
        ("disentanglement latent 2", None),
        ("completeness", 0),
        ("completeness", 1),
    ]
    assert [row.value for row in scores] == pytest.approx(
        [0.5, 0.5, (first + 1) / 2, 3 / 4 * first + 1 / 4, 1, 0, 0, first, 1]
    )


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_scipy(seed):
    matrix = np.random.default_rng(seed).gamma(0.3, size=(7, 4))
    rows = [1 - entropy(row, base=4) for row in matrix]
    columns = [1 - entropy(column, base=7) for column in matrix.T]
    overall, latents = disentanglement(matrix)
    assert latents == pytest.approx(rows, abs=1e-12)
    assert overall == pytest.approx(np.average(rows, weights=matrix.sum(axis=1)), abs=1e-12)
    mean, weighted, factors = completeness(matrix)
    assert factors == pytest.approx(columns, abs=1e-12)
    assert mean == pytest.approx(np.mean(columns), abs=1e-12)
    assert weighted == pytest.approx(np.average(columns, weights=matrix.sum(axis=0)), abs=1e-12)


def test_a_latent_without_importance_changes_no_disentanglement_wherever_it_stands():
    # A known bug of another implementation: a dead latent zeroes all later ones.
    matrix = np.random.default_rng(0).gamma(0.3, size=(4, 3))
    for place in range(5):
        overall, latents = disentanglement(np.insert(matrix, place, 0, axis=0))
        assert latents[place] == 0
        assert overall == pytest.approx(disentanglement(matrix)[0])
        assert np.delete(latents, place) == pytest.approx(disentanglement(matrix)[1])


def test_a_factor_without_importance_counts_in_the_plain_mean_only():
    mean, weighted, factors = completeness(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert (mean, weighted, factors.tolist()) == (0.5, 1, [1, 0])


def test_smallest_matrices():
    assert disentanglement([[0.0, 0.0]])[0] == 0
    assert completeness([[0.0], [0.0]])[:2] == (0, 0)
    one_factor = np.array([[3.0], [0.0], [1.0]])
    assert disentanglement(one_factor)[0] == 1
    assert disentanglement(one_factor)[1].tolist() == [1, 0, 1]
    assert completeness(one_factor.T)[0] == pytest.approx(2 / 3)
    assert completeness(one_factor.T)[1] == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-200, 1e149])
def test_size_of_importance_does_not_matter(size):
    matrix = np.random.default_rng(0).gamma(0.3, size=(4, 3))
    found = [row.value for row in importance_scores(matrix * size)]
    assert found == pytest.approx([row.value for row in importance_scores(matrix)])


def test_negative_importance_is_refused():
    with pytest.raises(ValueError, match=r"importance: found -1\.0; accepted: numbers from 0"):
        disentanglement([[1.0, -1.0]])


def test_errors_as_informativeness():
    # Errors 0, 1/12 (the mean of a uniform factor is guessed), 1/4 (and of a factor of 0s and 1s);
    # the fourth factor has one value.
    deviation = [0.4, math.sqrt(1 / 12), 0.5, 0]
    scores = error_scores([0, 1 / 12, 1 / 4, 0], [0, 1 / 3, 1 / 24, 1], deviation)
    found = {(row.part, row.factor): row.value for row in scores}
    assert len(found) == len(scores) == 20
    expected = {
        "informativeness_train": [0, 0.5, 0, 0],
        "informativeness_test": [0, 0, 0.75, 0],
        "nrmse_train": [0, 1, 1, 1],
        "nrmse_test": [0, 2, math.sqrt(1 / 6), 1],
    }
    expected["informativeness_train"][0] = expected["informativeness_test"][0] = 1
    for part, values in expected.items():
        assert [found[part, factor] for factor in range(4)] == pytest.approx(values)
        assert found[part, None] == pytest.approx(np.mean(values))
    assert scores[0] == Score("informativeness_train", found["informativeness_train", None])
