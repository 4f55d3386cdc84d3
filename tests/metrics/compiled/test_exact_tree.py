"""One tree: against a search over all splits, and against scikit-learn's trees, one by one."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.compiled.exact_tree import LEAVES, NODES, Tree, add_round, grow_round, workspace


@dataclass(frozen=True)
class Grown:
    """The trees of one round, and what each column's splits brought."""

    trees: Tree
    falls: np.ndarray


def grow(codes, gradient, seed=0, longest=np.inf) -> Grown:
    """`codes` (rows, columns), `gradient` (classes, rows)."""
    columns = np.ascontiguousarray(np.asarray(codes).T, np.float32)
    rows, classes = columns.shape[1], len(gradient)
    trees = Tree(
        np.full((classes, NODES), -1),
        np.zeros((classes, NODES), np.float32),
        np.full((classes, LEAVES), np.nan),
    )
    falls, state = np.zeros(len(columns)), np.array([seed], np.uint64)
    order = np.argsort(columns, axis=1, kind="stable").astype(np.uint16)
    space = workspace(len(columns), rows, np.uint16)
    grow_round(columns, order, gradient, trees, falls, state, space, longest)
    return Grown(trees, falls)


def score(rows, gradient, left) -> float:
    """The fall in squared error when `rows` are parted into `left` and the others."""
    here, there = gradient[rows & left], gradient[rows & ~left]
    whole = gradient[rows]
    return sum(
        sign * np.square(part.sum()) / len(part)
        for sign, part in ((1, here), (1, there), (-1, whole))
    )


def best_score(codes, rows, gradient) -> Fraction | None:
    """Over all splits between values that are not the same, in exact arithmetic."""
    exact = [Fraction(float(value)) for value in gradient]
    members, best = np.flatnonzero(rows), None
    total = sum(exact[row] for row in members)
    for column in codes.T:
        for value in np.unique(column[members])[:-1]:
            left = [row for row in members if column[row] <= value]
            part = sum(exact[row] for row in left)
            rest, count = total - part, len(members) - len(left)
            found = part**2 / len(left) + rest**2 / count - total**2 / len(members)
            best = found if best is None else max(best, found)
    return best


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 4), st.integers(2, 9))
def test_no_split_is_better_than_the_one_taken(seed, rows, columns, values):
    draws = np.random.default_rng(seed)
    codes = draws.integers(values, size=(rows, columns)).astype(np.float32) / 7
    gradient = draws.uniform(-0.99, 0.99, size=rows).round(2)
    grown = grow(codes, gradient[None])
    falls = np.zeros(columns)
    members = [np.ones(rows, bool)]
    for node in range(NODES):
        column, threshold = grown.trees.columns[0, node], grown.trees.thresholds[0, node]
        left = codes[:, column] <= threshold
        here = members[node]
        best = best_score(codes, here, gradient) if here.sum() > 1 else None
        if best is None:
            assert threshold == np.inf
        elif threshold == np.inf:
            assert gradient[here].var() < 1e-12
        else:
            assert score(here, gradient, left) == pytest.approx(float(best), rel=1e-9, abs=1e-9)
            falls[column] += float(best)
            below, above = codes[here & left, column].max(), codes[here & ~left, column].min()
            assert threshold == pytest.approx((below + above) / 2, rel=1e-6)
        members += [here & left, here & ~left]
    np.testing.assert_allclose(grown.falls, falls, rtol=1e-9, atol=1e-9)
    for leaf, here in enumerate(members[NODES:]):
        curvature = (np.abs(gradient) * (1 - np.abs(gradient)))[here].sum()
        step = gradient[here].sum() / curvature if curvature else 0.0
        assert grown.trees.leaves[0, leaf] == pytest.approx(step, rel=1e-9, abs=1e-9)


def test_by_hand():
    """Two of six rows stand out: one question finds them, the second what is left."""
    codes = np.array([[0, 5.0], [1, 4], [2, 3], [3, 2], [4, 1], [5, 0]])
    gradient = np.array([[0.0, 0, 0, 0, 0.5, 0.5]])
    grown = grow(codes[:, :1], gradient)
    assert grown.trees.thresholds[0].tolist() == [3.5, *[np.inf] * 6]
    assert grown.falls.tolist() == pytest.approx([1 / 3])  # 2 * 0.25 - 1 * 1 / 6
    assert grown.trees.leaves[0].tolist() == [0, 0, 0, 0, 2, 0, 0, 0]  # 1 / (2 * 0.25)
    raw = np.array([[1.0] * 6])
    add_round(codes.T.astype(np.float32), grown.trees, 0.1, raw, np.empty(6, np.uint8))
    np.testing.assert_allclose(raw, [[1, 1, 1, 1, 1.2, 1.2]])


def test_every_question_leads_to_its_leaf():
    """Eight groups, three columns of bits: each leaf gets the rows that answer like it."""
    bits = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)] * 5, np.float32)
    weight = bits @ [4.0, 2.0, 1.0]  # the first column explains most
    gradient = (weight - 3.5) / 8
    grown = grow(bits, gradient[None])
    assert grown.trees.columns[0].tolist() == [0, 1, 1, 2, 2, 2, 2]
    steps = np.sign(gradient) / (1 - np.abs(gradient))  # g / (|g| (1 - |g|))
    np.testing.assert_allclose(grown.trees.leaves[0], steps[:8])
    raw = np.zeros((1, 40))
    add_round(np.ascontiguousarray(bits.T), grown.trees, 1.0, raw, np.empty(40, np.uint8))
    np.testing.assert_allclose(raw[0], steps)


def test_the_seed_decides_between_columns_that_part_alike():
    """A column, its copy and its mirror image each win about a third of the draws."""
    draws = np.random.default_rng(0)
    column = draws.normal(size=50)
    codes, gradient = np.stack([column, column, -column], axis=1), draws.normal(size=(1, 50))
    taken = np.zeros(3)
    for seed in range(300):
        root = grow(codes, gradient, seed).trees.columns[0, 0]
        taken[root] += 1
    assert taken.min() > 70, taken


def test_among_equal_splits_of_a_column_the_lowest_counts():
    grown = grow(np.arange(4.0)[:, None], np.array([[1.0, 0, 0, 1]]))
    assert grown.trees.thresholds[0, 0] == 0.5


def test_neighbours_closer_than_1e_7_are_not_parted():
    gradient = np.array([[0.0, 0, 1, 1]])
    near, far = np.array([[0, 0.9], [2.7, 2.8]]).ravel() * 1e-7, np.arange(4) * 1.1e-7
    assert grow(near[:, None], gradient).trees.thresholds[0, 0] == pytest.approx(1.8e-7)
    assert grow(far[:, None], gradient).trees.thresholds[0, 0] == pytest.approx(1.65e-7)
    chain = np.arange(4) * 0.9e-7  # each equals the next, so that all are equal
    assert np.isinf(grow(chain[:, None], gradient).trees.thresholds).all()


@pytest.mark.parametrize("steps", [0, 1])
def test_a_threshold_between_neighbours_of_float32_keeps_them_apart(steps):
    above = np.float32(5)
    low = np.float32(4) if steps == 0 else np.nextafter(np.float32(4), above)
    high = np.nextafter(low, above)  # nothing lies between, and the middle rounds to either
    grown = grow([[low], [high]], np.array([[0.0, 1]]))
    assert low <= grown.trees.thresholds[0, 0] < high


def test_a_node_without_variance_is_not_split():
    gradient = np.full((1, 5), -0.25)
    grown = grow(np.arange(5.0)[:, None], gradient)
    assert np.isinf(grown.trees.thresholds).all() and grown.falls.tolist() == [0]
    assert grown.trees.leaves[0, 0] == pytest.approx(-0.25 / (0.25 * 0.75))
    tiny = np.array([[1e-9, -1e-9] * 10])
    assert np.isinf(grow(np.arange(20.0)[:, None], tiny).trees.thresholds).all()


def test_a_row_whose_class_seemed_impossible_has_no_curvature():
    """A probability of 1e-58 leaves a gradient of exactly 1, as in scikit-learn, so that another
    row's curvature of 1e-80 decides; with 1e-58 for the first row the step would be 1e58."""
    gradient = np.array([[1 - 1e-58, 1e-80]])
    grown = grow(np.zeros((2, 1)), gradient)
    assert grown.trees.leaves[0, 0] == pytest.approx(1e80)


def test_no_step_is_longer_than_asked():
    gradient = np.array([[0.999, -0.999, 0.2, 0.1]])
    codes = np.arange(4.0)[:, None]
    free, short = (grow(codes, gradient, longest=limit).trees.leaves for limit in (np.inf, 5))
    assert np.abs(free).max() > 900
    np.testing.assert_array_equal(short, free.clip(-5, 5))


def test_a_leaf_without_curvature_adds_nothing():
    grown = grow(np.arange(4.0)[:, None], np.array([[0.0, 0, 1, 1]]))
    assert np.isfinite(grown.trees.leaves).all() and grown.trees.leaves[0, 4] == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(seed):
    draws = np.random.default_rng(seed)
    codes, gradient = draws.integers(12, size=(90, 3)), draws.normal(size=(2, 90))
    shuffled = draws.permutation(90)
    one = grow(codes, gradient)
    other = grow(codes[shuffled], gradient[:, shuffled])
    np.testing.assert_array_equal(one.trees.columns, other.trees.columns)
    np.testing.assert_array_equal(one.trees.thresholds, other.trees.thresholds)
    np.testing.assert_array_equal(one.falls, other.falls)
