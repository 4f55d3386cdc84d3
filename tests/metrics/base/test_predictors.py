import warnings

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from metrics.base.predictors import quiet, standardised, validation_rows


def test_standardised_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(2, 50, 3)) * [1, 1e-9, 1e9] + [1e3, 0, 1]
    scaler = StandardScaler().fit(train)
    found = standardised(train, test)
    np.testing.assert_allclose(found[0], scaler.transform(train), atol=1e-9)
    np.testing.assert_allclose(found[1], scaler.transform(test), atol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("column", [[0.1] * 7, [0.0] * 6 + [1e-160], [9e149] * 7])
def test_a_column_without_measurable_variance_is_zero_in_both(column):
    train, test = standardised(np.array(column)[:, None], np.array([[3.0], [-9e149]]))
    assert not train.any()
    assert not test.any()


@pytest.mark.filterwarnings("error")
def test_sizes_at_the_limits_stay_finite():
    for size in (1e-149, 9e149):
        train, test = standardised(
            np.array([[-size], [size]]), np.array([[9e149], [-9e149], [size]])
        )
        assert train.tolist() == pytest.approx(np.array([[-1.0], [1.0]]))
        expected = [1e30, -1e30, 1] if size < 1 else [1, -1, 1]
        assert test[:, 0] == pytest.approx(expected)


@pytest.mark.parametrize(("rows", "expected"), [(1, 1), (2, 1), (9, 1), (10, 2), (101, 20)])
def test_one_row_in_five_is_held_out(rows, expected):
    held_out = validation_rows(rows, np.random.default_rng(0))
    assert (held_out.shape, held_out.sum()) == ((rows,), expected)
    if rows > 10:
        assert held_out.tolist() != validation_rows(rows, np.random.default_rng(1)).tolist()


@pytest.mark.filterwarnings("error")
def test_quiet_silences_only_what_is_inside():
    with quiet():
        warnings.warn("inside", stacklevel=1)
    with pytest.raises(UserWarning, match="outside"):
        warnings.warn("outside", stacklevel=1)
