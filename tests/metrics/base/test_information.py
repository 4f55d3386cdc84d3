import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from metrics.base import information
from metrics.base.information import discretise, entropy, mutual_information


@pytest.mark.parametrize("values", [(1, 1), (2, 7), (20, 30), (3, 500)])
def test_mutual_information_agrees_with_scikit_learn(values):
    rng = np.random.default_rng(values[1])
    left = rng.integers(-5, values[0] - 5, size=(700, 4))
    right = rng.integers(0, values[1], size=(700, 3)) * 11
    right[:, 0] += left[:, 1]  # some that know of each other
    expected = [[mutual_info_score(a, b) for b in right.T] for a in left.T]
    np.testing.assert_allclose(mutual_information(left, right), expected, atol=1e-9, rtol=0)


def test_many_values_are_counted_in_parts(monkeypatch):
    draws = np.random.default_rng(3)
    left, right = draws.integers(20, size=(500, 7)), draws.integers(300, size=(500, 2))
    whole = mutual_information(left, right)
    monkeypatch.setattr(information, "MOST_CELLS", 3 * 20 * 300)  # three of the seven at once
    assert mutual_information(left, right).tobytes() == whole.tobytes()


def test_entropy_is_what_labels_tell_of_themselves():
    labels = np.random.default_rng(0).integers(0, [2, 1, 30], size=(400, 3))
    own = np.diag(mutual_information(labels, labels))
    np.testing.assert_allclose(entropy(labels), own, atol=1e-12)
    assert entropy(np.array([[0], [1], [2], [3]]))[0] == pytest.approx(np.log(4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bins", [1, 5, 20])
def test_bins_are_those_of_numpy_histograms(dtype, bins):
    rng = np.random.default_rng(bins)
    codes = np.column_stack(
        [
            rng.normal(size=400),
            rng.integers(0, 21, size=400),  # every value lies on an edge of twenty bins
            rng.integers(0, 8, size=400) * 0.1,
            np.full(400, 0.1),
            rng.normal(size=400) * 1e-3 + 1e3,
            np.resize(np.linspace(0, 0.7, bins + 1), 400),
        ]
    ).astype(dtype)
    found = discretise(codes, bins)
    for latent in (0, 1, 2, 4, 5):
        column = codes[:, latent]
        edges = np.histogram(column, bins)[1][:-1]
        np.testing.assert_array_equal(found[:, latent], np.digitize(column, edges) - 1)
    assert len(np.unique(found[:, 3])) == 1
    assert (found.min(), found.max()) == (0, bins - 1)


def test_equal_neighbours_in_floating_point_do_not_break_bins():
    codes = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    assert 0 <= discretise(codes, 20).min() <= discretise(codes, 20).max() < 20


def test_number_of_bins_must_be_positive():
    with pytest.raises(ValueError, match="bins: found 0; accepted: 1 or more"):
        discretise(np.zeros((3, 2)), 0)
