import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from metrics.udr.pair_score import pair_score, scores_of_pairs


@pytest.mark.parametrize(
    ("similarity", "mean", "eq2"),
    [
        # one entry per row and column: each max² / sum is the entry itself
        ([[0.9, 0], [0, 0.5]], 0.7, 0.7),
        # columns: 1/1.5 and 0.25/0.5; rows: 1/1 and 0.25/1; (7/12 + 5/8) / 2 by either formula
        ([[1, 0], [0.5, 0.5]], (7 / 12 + 5 / 8) / 2, (7 / 12 + 5 / 8) / 2),
        # columns: 1, 4/2, 0/0; rows: 4/3, 0/0. Mean (3/3 + 4/6) / 2, Eq. 2 (3 + 4/3) / 5
        ([[1, 2, 0], [0, 0, 0]], (1 + 2 / 3) / 2, (3 + 4 / 3) / 5),
        # one row, two columns: columns 1 and 3; row 9/4
        ([[1, 3]], (2 + 9 / 4) / 2, (4 + 9 / 4) / 3),
        ([[0, 0], [0, 0]], 0, 0),
        (np.zeros((0, 3)), 0, 0),
        (np.zeros((2, 0)), 0, 0),
    ],
)
def test_by_hand(similarity, mean, eq2):
    assert pair_score(np.array(similarity, dtype=float)) == pytest.approx((mean, eq2))


matrices = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(0, 2, width=16)
)


def slowly(matrix):
    """As released: numpy's means over columns and rows, 0 / 0 as 0; and Eq. 2."""
    strengths = []
    for lines in (matrix.T, matrix):
        strengths.append([line.max() ** 2 / line.sum() if line.any() else 0.0 for line in lines])
    return np.mean([np.mean(side) for side in strengths]), np.mean(np.concatenate(strengths))


@given(matrix=matrices)
def test_agrees_with_loops_and_does_not_mind_the_direction(matrix):
    assert pair_score(matrix) == pytest.approx(slowly(matrix))
    assert pair_score(np.ascontiguousarray(matrix.T)) == pytest.approx(slowly(matrix))


def test_matrices_of_all_pairs():
    wide = np.random.default_rng(0).random((5, 9))
    rows, columns = np.array([0, 3, 5]), np.array([0, 4, 4, 5, 9])
    udr, udr_eq2 = scores_of_pairs(wide, rows, columns)
    for i, side in enumerate((wide[:3], wide[3:])):
        expected = [slowly(side[:, :4]), (0, 0), slowly(side[:, 4:5]), slowly(side[:, 5:])]
        assert udr[i] == pytest.approx([mean for mean, _ in expected])
        assert udr_eq2[i] == pytest.approx([eq2 for _, eq2 in expected])
