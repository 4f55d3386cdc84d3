"""The bins of continuous factors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from data.base.continuous import equal_bins


@given(
    arrays(np.float64, st.integers(1, 50), elements=st.floats(-1e6, 1e6, allow_subnormal=False)),
    st.integers(1, 30),
)
def test_bins_have_equal_width(column, bins):
    binned = equal_bins(column, bins)
    width = (column.max() - column.min()) / bins
    assert binned.min() >= 0 and binned.max() <= bins - 1
    low = column.min() + binned * width
    rounding = 1e-9 * (1 + np.abs(column).max())
    assert (low - rounding <= column).all() and (column <= low + width + rounding).all()


def test_edges_belong_to_the_upper_bin_and_the_largest_value_to_the_last():
    assert equal_bins(np.array([0.0, 0.5, 1.0, 1.5, 2.0]), 4).tolist() == [0, 1, 2, 3, 3]
    assert equal_bins(np.array([3.0, 3.0]), 4).tolist() in ([0, 0], [3, 3])


@pytest.mark.parametrize("bins", [1, 2, 10])
def test_whole_numbers_keep_their_order(bins):
    column = np.random.default_rng(0).integers(40, size=300)
    binned = equal_bins(column, bins)
    order = np.argsort(column, kind="stable")
    assert (np.diff(binned[order]) >= 0).all()
    assert len(np.unique(binned)) == bins
