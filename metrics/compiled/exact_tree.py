"""One regression tree of depth 3 with exact splits, on columns that were sorted beforehand.

A tree has up to three levels of splits: above the threshold or not. Nodes are numbered
from the root, 0; the children of node i are 2i + 1 (no) and 2i + 2 (yes). A node that is not split
has an infinite threshold, so that all its rows go to the left.

`order` holds rows, (columns, rows), by growing values of each column.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled

DEPTH = 3
NODES, LEAVES = 2**DEPTH - 1, 2**DEPTH
PARENTS = NODES // 2  # nodes whose children may be split too
TIED = np.float32(1e-7)  # values no further apart than this count as equal
PURE = float(np.finfo(np.float64).eps)  # a node of at most this variance is not split
LANES = 4  # sums that are added to one after another, so that none waits for the one before
FLAT = 1e-150  # a leaf of at most this curvature adds nothing

Floats = NDArray[np.float64]
Columns = NDArray[np.float32]  # (columns, rows)
Orders = NDArray[Any]  # (columns, rows), unsigned


class Tree(NamedTuple):
    """Trees of one round, one per class: (classes, NODES) twice, and (classes, LEAVES)."""

    columns: NDArray[np.intp]
    thresholds: NDArray[np.float32]
    leaves: Floats


class Workspace(NamedTuple):
    """What growing a tree needs to write into, allocated once."""

    orders: NDArray[Any]  # (NODES - 1, columns, rows + 1): of every node but the root
    rounded: Floats  # (rows,): gradients on a grid on which sums are exact
    sums: Floats  # (rows,): of the first rows in a column's order
    scores: Floats  # (rows,)
    reciprocal: Floats  # (rows + 1,): 1 / i
    backwards: Floats  # (rows + 1,): 1 / (rows - i)
    right: NDArray[np.uint8]  # (rows,): whether a row goes to the right
    leaf: NDArray[np.uint8]  # (rows,)


def workspace(columns: int, rows: int, index: type[np.unsignedinteger[Any]]) -> Workspace:
    """For trees on so many columns and rows; `index` is the type of row numbers."""
    with np.errstate(divide="ignore"):
        reciprocal = 1 / np.arange(rows + 1.0)
    return Workspace(
        np.empty((NODES - 1, columns, rows + 1), index),
        np.empty(rows),
        np.empty(rows),
        np.empty(rows),
        reciprocal,
        np.ascontiguousarray(reciprocal[::-1]),
        np.empty(rows, np.uint8),
        np.empty(rows, np.uint8),
    )


@compiled()
def grow_round(
    columns: Columns,
    order: Orders,
    gradient: Floats,
    trees: Tree,
    falls: Floats,
    state: NDArray[np.uint64],
    space: Workspace,
    longest: float,
) -> None:
    """Fit a tree to each class's gradient, (classes, rows); add to `falls`, (columns,), how much
    the splits by each column lower the squared error. No leaf's step is longer than `longest`."""
    for place in range(len(gradient)):
        _grow(columns, order, gradient[place], place, trees, falls, state, space)
        _newton(columns, gradient[place], place, trees, space, longest)


@compiled()
def _grow(
    columns: Columns,
    order: Orders,
    gradient: Floats,
    place: int,
    trees: Tree,
    falls: Floats,
    state: NDArray[np.uint64],
    space: Workspace,
) -> None:
    _round_to_grid(gradient, space.rounded)
    counts, totals = np.zeros(NODES, np.intp), np.zeros(NODES)
    counts[0], totals[0] = len(gradient), space.rounded.sum()
    for node in range(NODES):
        trees.columns[place, node], trees.thresholds[place, node] = 0, np.inf
        count, total = counts[node], totals[node]
        if count < 2:
            continue
        rows = order if node == 0 else space.orders[node - 1]
        column, left, left_total = _best_split(columns, rows, count, total, state, space)
        if left == 0:
            continue
        right, right_total = count - left, total - left_total
        fall = (right * left_total - left * right_total) ** 2 / (left * float(right) * count)
        if fall / count <= PURE and _variance(rows[0], count, total, space.rounded) <= PURE:
            continue
        threshold = _between(columns[column], rows[column, left - 1], rows[column, left])
        trees.columns[place, node], trees.thresholds[place, node] = column, threshold
        falls[column] += fall
        if node < PARENTS:
            child = 2 * node + 1
            counts[child], counts[child + 1] = left, right
            totals[child], totals[child + 1] = left_total, right_total
            _part(columns[column], threshold, rows, count, child, space)


@compiled()
def _round_to_grid(values: Floats, rounded: Floats) -> None:
    """To multiples of a power of 2 that is so large that sums of all of them are exact."""
    largest = 0.0
    for row in range(len(values)):
        largest = max(largest, abs(values[row]))
    _, exponent = math.frexp(largest * len(values))
    magic = 1.5 * 2.0**exponent  # what is added to it loses the digits below the grid
    for row in range(len(values)):
        rounded[row] = (values[row] + magic) - magic


@compiled()
def _best_split(
    columns: Columns,
    rows: Orders,
    count: int,
    total: float,
    state: NDArray[np.uint64],
    space: Workspace,
) -> tuple[int, int, float]:
    """The column, how many rows go to the left, and their sum; no rows where nothing can be split.

    Scores of columns are those of their best split between any two neighbours, until that of the
    best column turns out to be of two equal values.
    """
    scores = np.empty(len(rows))
    for column in range(len(rows)):
        _sum(rows[column], count, space.rounded, space.sums)
        scores[column] = _largest_score(count, total, space)
    checked = np.zeros(len(rows), np.bool_)
    lefts, sums = np.zeros(len(rows), np.intp), np.zeros(len(rows))
    while True:
        best, ties, any_checked = scores.max(), 0, False
        for column in range(len(rows)):
            if scores[column] == best:
                ties += 1
                if not checked[column]:
                    checked[column] = any_checked = True
                    scores[column], lefts[column], sums[column] = _checked_score(
                        columns[column], rows[column], count, total, space
                    )
        if not any_checked:
            break
    chosen = _draw(state, ties)
    for column in range(len(rows)):
        if scores[column] == best:
            if chosen == 0:
                return column, lefts[column], sums[column]
            chosen -= 1
    return 0, 0, 0.0


@compiled()
def _sum(rows: NDArray[Any], count: int, values: Floats, sums: Floats) -> None:
    """Running sums in the order of the rows, in two chains of additions that need not wait for each
    other; not always the last, of all rows, after which nothing can be split."""
    half = count // 2
    first = second = 0.0
    for place in range(half):
        first += values[rows[place]]
        sums[place] = first
        second += values[rows[half + place]]
        sums[half + place] = second
    for place in range(half, 2 * half):
        sums[place] += first


@compiled()
def _largest_score(count: int, total: float, space: Workspace) -> float:
    """The largest score of a split after any row but the last: the sum of squares explained."""
    sums, scores = space.sums, space.scores
    left, right = space.reciprocal[1:], space.backwards[len(sums) + 1 - count :]
    for place in range(count - 1):
        rest = total - sums[place]
        scores[place] = sums[place] * sums[place] * left[place] + rest * rest * right[place]
    bits = scores.view(np.int64)  # of positive numbers, in the same order: a faster maximum
    largest = bits[0]
    for place in range(1, count - 1):
        largest = max(largest, bits[place])
    bits[0] = largest
    return float(scores[0])


@compiled()
def _checked_score(
    column: NDArray[np.float32], rows: NDArray[Any], count: int, total: float, space: Workspace
) -> tuple[float, int, float]:
    """The largest score of a split between different values, the first with it, and its sum."""
    left, right = space.reciprocal[1:], space.backwards[len(space.sums) + 1 - count :]
    best, left_rows, left_sum, so_far = -1.0, 0, 0.0, 0.0
    for place in range(count - 1):
        so_far += space.rounded[rows[place]]
        if column[rows[place + 1]] > column[rows[place]] + TIED:
            rest = total - so_far
            score = so_far * so_far * left[place] + rest * rest * right[place]
            if score > best:
                best, left_rows, left_sum = score, place + 1, so_far
    return best, left_rows, left_sum


@compiled()
def _draw(state: NDArray[np.uint64], ties: int) -> int:
    """A number below `ties`, from a generator (SplitMix64) that holds its state in one number."""
    if ties == 1:
        return 0
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((mixed ^ (mixed >> np.uint64(31))) % np.uint64(ties))


@compiled()
def _variance(rows: NDArray[Any], count: int, total: float, values: Floats) -> float:
    squares = 0.0
    for place in range(count):
        squares += values[rows[place]] ** 2
    return squares / count - (total / count) ** 2


@compiled()
def _between(column: NDArray[np.float32], low: int, high: int) -> np.float32:
    """The middle between two rows' values, or the next smaller float32: the same rows are above."""
    middle = column[low] / 2.0 + column[high] / 2.0
    threshold = np.float32(middle)
    if threshold > middle:
        threshold = np.nextafter(threshold, np.float32(-np.inf))
    return threshold


@compiled()
def _part(
    column: NDArray[np.float32],
    threshold: np.float32,
    rows: Orders,
    count: int,
    child: int,
    space: Workspace,
) -> None:
    """Give each child its rows, in the order of every column."""
    for row in range(len(column)):
        space.right[row] = column[row] > threshold
    for place in range(len(rows)):
        source = rows[place]
        left, right = space.orders[child - 1, place], space.orders[child, place]
        lefts = rights = 0
        for i in range(count):
            row = source[i]
            left[lefts] = right[rights] = row  # the wrong one is overwritten by the next
            goes = space.right[row]
            rights += goes
            lefts += 1 - goes


@compiled()
def _newton(
    columns: Columns,
    gradient: Floats,
    place: int,
    trees: Tree,
    space: Workspace,
    longest: float,
) -> None:
    """Give every leaf the step that lowers its rows' log-loss most, to second order."""
    _find_leaves(columns, place, trees, space.leaf)
    slopes, curvatures = np.zeros((LANES, LEAVES)), np.zeros((LANES, LEAVES))
    for row in range(len(gradient)):
        lane, leaf = row % LANES, space.leaf[row]
        slopes[lane, leaf] += gradient[row]
        size = abs(gradient[row])
        curvatures[lane, leaf] += size * (1 - size)
    for leaf in range(LEAVES):
        slope, curvature = slopes[:, leaf].sum(), curvatures[:, leaf].sum()
        step = 0.0 if curvature < FLAT else slope / curvature
        trees.leaves[place, leaf] = min(max(step, -longest), longest)


@compiled()
def _find_leaves(columns: Columns, place: int, trees: Tree, leaf: NDArray[np.uint8]) -> None:
    """Every row's leaf. A row is compared with all seven thresholds: no branch, many at once."""
    by, thresholds = trees.columns[place], trees.thresholds[place]
    c0, c1, c2 = columns[by[0]], columns[by[1]], columns[by[2]]
    c3, c4 = columns[by[3]], columns[by[4]]
    c5, c6 = columns[by[5]], columns[by[6]]
    t0, t1, t2, t3 = thresholds[0], thresholds[1], thresholds[2], thresholds[3]
    t4, t5, t6 = thresholds[4], thresholds[5], thresholds[6]
    for row in range(len(leaf)):
        first = c0[row] > t0
        second = (first & (c2[row] > t2)) | (~first & (c1[row] > t1))
        after_no = (second & (c4[row] > t4)) | (~second & (c3[row] > t3))
        after_yes = (second & (c6[row] > t6)) | (~second & (c5[row] > t5))
        third = (first & after_yes) | (~first & after_no)
        leaf[row] = 4 * first + 2 * second + third


@compiled()
def add_round(
    columns: Columns, trees: Tree, rate: float, raw: Floats, leaf: NDArray[np.uint8]
) -> None:
    """Add to `raw`, (classes, rows), what the round's trees say of every row, times `rate`."""
    for place in range(len(raw)):
        _find_leaves(columns, place, trees, leaf)
        steps = rate * trees.leaves[place]
        for row in range(raw.shape[1]):
            raw[place, row] += steps[leaf[row]]
