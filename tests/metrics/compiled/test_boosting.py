"""Boosted trees against scikit-learn's GradientBoostingClassifier(), with its default settings."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from metrics.base.dci_scores import disentanglement
from metrics.compiled.boosting import Boosting
from metrics.compiled.exact_tree import NODES, Tree, add_round
from tests.metrics.compiled.test_exact_tree import grow, score


@dataclass(frozen=True)
class Problem:
    """Codes and values of one factor, made up; the last columns are of a kind of their own."""

    classes: int
    columns: int
    rows: int
    levels: int = 0  # how many values a column has; 0: as many as rows
    constant: int = 0  # columns
    duplicated: int = 0  # columns that come twice
    missing: bool = False  # classes that lie between others and have no rows
    seed: int = 0

    def draw(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        draws = np.random.default_rng([self.seed, self.classes, self.columns, rows])
        target = draws.integers(self.classes, size=rows)
        told = max(1, self.columns // 2)
        codes = draws.normal(size=(rows, self.columns))
        codes[:, :told] += (target[:, None] * (1 + np.arange(told))) % self.classes
        if self.levels:
            low, high = codes.min(), codes.max()
            codes = np.floor((codes - low) / (high - low + 1e-9) * self.levels)
        codes = np.hstack([codes, codes[:, : self.duplicated], np.full((rows, self.constant), 2.5)])
        return codes.astype(np.float32), (3 * target + 5 if self.missing else target)


CONTINUOUS = [
    *(Problem(classes, 5, 300) for classes in (2, 3, 5)),
    *(Problem(2, columns, 200) for columns in (2, 10, 20)),
    *(Problem(2, 3, rows) for rows in (10, 30, 100)),
    Problem(40, 4, 400),
    Problem(10, 10, 500, missing=True),
    Problem(3, 6, 250, constant=2),
    Problem(4, 3, 200, duplicated=2),
    Problem(3, 4, 10),
    Problem(20, 3, 25),
]
# Nothing is left to chance: no split is as good as another that parts other rows or asks another
# column. Small problems, one column, or few values, so that columns seldom part rows alike.
DECIDED = [
    Problem(2, 1, 10),
    *(Problem(2, 1, 30, seed=seed) for seed in (1, 2)),
    Problem(3, 1, 10, seed=1),
    Problem(2, 1, 100),
    Problem(3, 1, 100),
    Problem(2, 4, 3000, levels=4),
    Problem(5, 4, 3000, levels=4),
    Problem(2, 3, 2000, levels=5),
    Problem(2, 2, 1000, levels=8),
    *(Problem(4, 2, 1000, levels=8, seed=seed, missing=seed == 1) for seed in (0, 1)),
    Problem(2, 2, 10_000, levels=16),
    Problem(6, 2, 4000, levels=10, seed=1, constant=1),
    Problem(2, 8, 6000, levels=3),
    Problem(2, 10, 8000, levels=2),
    Problem(20, 3, 6000, levels=4, seed=1),
]


def titled(problem: Problem) -> str:
    return (
        f"{problem.classes} classes, {problem.columns} columns, {problem.rows} rows"
        + f", {problem.levels} values" * (problem.levels > 0)
        + f", {problem.constant} constant" * (problem.constant > 0)
        + f", {problem.duplicated} twice" * (problem.duplicated > 0)
        + f", seed {problem.seed}"
    )


def reference(seed: int = 0) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(random_state=seed)


def chance(codes, target) -> float:
    """How much the draw between equal splits changes: other seeds, and the mirrored columns, of
    which the last of equal splits is taken where else it is the first."""
    model = Boosting().fit(codes, target)
    told = model.predict_proba(codes)
    changes = []
    for seed, sign in ((1, 1), (2, 1), (3, 1), (0, -1), (4, -1)):
        other = Boosting(seed).fit(sign * codes, target)
        changes.append(np.abs(other.predict_proba(sign * codes) - told).max())
        changes.append(np.abs(other.feature_importances_ - model.feature_importances_).max())
    return float(max(changes))


@pytest.mark.parametrize("problem", DECIDED, ids=titled)
def test_where_nothing_is_left_to_chance_all_is_as_in_scikit_learn(problem):
    codes, target = problem.draw(problem.rows)
    assert chance(codes, target) < 1e-9, "not a problem for this test"
    ours, theirs = Boosting().fit(codes, target), reference().fit(codes, target)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    for points in (codes, problem.draw(2000)[0]):
        told = theirs.predict_proba(points)
        np.testing.assert_allclose(ours.predict_proba(points), told, atol=1e-9)
        runner_up, first = np.sort(told, axis=1)[:, -2:].T
        clear = first > runner_up + 1e-9  # classes with as many rows in every leaf are equal
        assert clear.mean() > 0.5
        assert (ours.predict(points) == theirs.predict(points))[clear].all()


@pytest.mark.parametrize("problem", [*CONTINUOUS, *DECIDED[::3]], ids=titled)
def test_every_tree_of_scikit_learn_takes_one_of_our_best_splits(problem):
    """Each round is grown again from where scikit-learn stood, so that chance cannot add up."""
    codes, target = problem.draw(problem.rows)
    theirs = reference(1).fit(codes, target)
    member = (target == theirs.classes_[:, None]).astype(float)
    stages = list(theirs.staged_predict_proba(codes))
    first = np.repeat(member.mean(axis=1, keepdims=True), len(codes), axis=1)
    alike = splits = 0
    for stage in (0, 1, 2, 10, 40, 99):
        chance = stages[stage - 1].T if stage else first
        of, chance = (member[1:], chance[1:]) if len(member) == 2 else (member, chance)
        grown = grow(codes, of - chance).trees
        for place, tree in enumerate(theirs.estimators_[stage]):
            ties = compare(codes, (of - chance)[place], grown, place, tree.tree_)
            alike, splits = alike + ties.count(False), splits + len(ties)
    assert splits > 5
    if problem in DECIDED:
        assert alike == splits


MANY_CLASSES = [
    Problem(60, 3, 180),
    Problem(120, 4, 600, seed=1),
    Problem(183, 5, 1000, seed=2),
    Problem(200, 3, 400, seed=3),
]


@pytest.mark.parametrize("problem", MANY_CLASSES, ids=titled)
def test_leaves_of_many_classes_are_as_in_scikit_learn(problem):
    """Leaves reach 1e7. Each tree is grown from scikit-learn's probabilities; where both split
    alike, their leaves are equal."""
    codes, target = problem.draw(problem.rows)
    theirs = GradientBoostingClassifier(random_state=1, n_estimators=8).fit(codes, target)
    member = (target == theirs.classes_[:, None]).astype(float)
    stages = [np.repeat(member.mean(axis=1, keepdims=True), len(codes), axis=1)]
    stages += [stage.T for stage in theirs.staged_predict_proba(codes)]
    equal, largest = 0, 0.0
    for stage, chance in enumerate(stages[:-1]):
        grown = grow(codes, member - chance).trees
        grown.leaves[:] *= (len(member) - 1) / len(member)
        for place, other in enumerate(theirs.estimators_[stage]):
            leaf = np.searchsorted(np.unique(other.apply(codes)), other.apply(codes))
            ours = predict(codes, grown, place)
            rows = [ours[leaf == number] for number in range(leaf.max() + 1)]
            if len(np.unique(ours)) == len(rows) and all(np.ptp(part) == 0 for part in rows):
                np.testing.assert_allclose(ours, other.predict(codes), rtol=1e-6)
                equal, largest = equal + 1, max(largest, np.abs(ours).max())
    assert equal > 100
    assert largest > 100


def predict(codes, trees, place) -> np.ndarray:
    """Every row's leaf value."""
    one = Tree(*(part[place : place + 1] for part in trees))
    columns = np.ascontiguousarray(np.asarray(codes).T, np.float32)
    raw = np.zeros((1, len(codes)))
    add_round(columns, one, 1.0, raw, np.empty(len(codes), np.uint8))
    return raw[0]


def compare(codes, gradient, grown, place, theirs) -> list[bool]:
    """For every node that both trees have in common: whether their splits differ, equally good."""
    differ: list[bool] = []
    pending = [(0, 0, np.ones(len(codes), bool))]
    while pending:
        node, other, rows = pending.pop()
        if node >= NODES:
            assert theirs.children_left[other] < 0
            continue
        ours = codes[:, grown.columns[place, node]] <= grown.thresholds[place, node]
        unsplit = theirs.children_left[other] < 0, np.isinf(grown.thresholds[place, node])
        if all(unsplit):
            continue
        if any(unsplit):  # where no variance is left, but rounding, which in theirs is larger
            assert np.ptp(gradient[rows]) < 1e-7
            continue
        chosen = codes[:, theirs.feature[other]] <= theirs.threshold[other]
        tolerance = 1e-9 * (np.square(gradient[rows]).sum() + 1e-12)
        assert abs(score(rows, gradient, chosen) - score(rows, gradient, ours)) <= tolerance
        same = bool((ours[rows] == chosen[rows]).all())
        differ.append(not same)
        if same:
            left, right = theirs.children_left[other], theirs.children_right[other]
            pending += [(2 * node + 1, left, rows & ours), (2 * node + 2, right, rows & ~ours)]
    return differ


def test_where_ties_are_drawn_seeds_vary_as_in_scikit_learn():
    """Means over seeds agree within their spread, and predictions agree as well as theirs do."""
    problem, seeds = Problem(5, 6, 300), range(12)
    codes, target = problem.draw(problem.rows)
    test = problem.draw(1000)[0]
    ours = [Boosting(seed).fit(codes, target) for seed in seeds]
    theirs = [reference(seed).fit(codes, target) for seed in seeds]
    mine, other = (
        np.array([model.feature_importances_ for model in models]) for models in (ours, theirs)
    )
    spread = np.sqrt((mine.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / len(seeds))
    assert (mine.std(axis=0) > 0).all()
    assert (np.abs(mine.mean(axis=0) - other.mean(axis=0)) < 4 * spread).all()

    def agreement(one, two) -> float:
        predictions = [[model.predict(test) for model in models] for models in (one, two)]
        pairs = [
            (a == b).mean()
            for i, a in enumerate(predictions[0])
            for j, b in enumerate(predictions[1])
            if i != j
        ]
        return float(np.mean(pairs))

    assert agreement(ours, theirs) > agreement(theirs, theirs) - 0.005


def test_disentanglement_agrees_within_the_spread_over_seeds():
    draws, seeds = np.random.default_rng(3), range(6)
    factors = draws.integers((2, 3, 5), size=(200, 3))
    codes = factors @ draws.normal(size=(3, 5)) + 0.3 * draws.normal(size=(200, 5))

    def score_of(kind, seed) -> float:
        fits = [kind(seed).fit(codes, factor) for factor in factors.T]
        return disentanglement(np.stack([fit.feature_importances_ for fit in fits], axis=1))[0]

    ours = [score_of(Boosting, seed) for seed in seeds]
    theirs = [score_of(reference, seed) for seed in seeds]
    spread = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / len(seeds))
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * spread
    assert 0 < np.std(ours) < 0.01


def test_one_seed_gives_the_same_bytes():
    codes, target = Problem(4, 5, 200).draw(200)
    one, again, other = (Boosting(seed).fit(codes, target) for seed in (7, 7, 8))
    assert one.predict_proba(codes).tobytes() == again.predict_proba(codes).tobytes()
    assert one.feature_importances_.tobytes() == again.feature_importances_.tobytes()
    assert one.feature_importances_.tobytes() != other.feature_importances_.tobytes()


def test_more_rows_than_a_short_number_counts():
    codes, target = Problem(2, 1, 70_000, levels=50).draw(70_000)
    ours, theirs = Boosting().fit(codes, target), reference().fit(codes, target)
    np.testing.assert_allclose(ours.predict_proba(codes), theirs.predict_proba(codes), atol=1e-6)


def test_names_are_classes_too_and_chances_sum_to_one():
    codes, target = Problem(3, 3, 120).draw(120)
    names = np.array(["ellipse", "heart", "square"])[target]
    model = Boosting().fit(codes, names)
    assert model.classes_.tolist() == ["ellipse", "heart", "square"]
    assert (model.predict(codes) == names).mean() > 0.9
    np.testing.assert_allclose(model.predict_proba(codes).sum(axis=1), 1)


def test_dead_columns_have_no_importance_and_all_dead_predict_the_commonest():
    target = np.array([0, 1, 1, 2, 1])
    model = Boosting().fit(np.full((5, 3), 4.0), target)
    assert model.feature_importances_.tolist() == [0, 0, 0]
    assert model.predict(np.zeros((2, 3))).tolist() == [1, 1]
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 3))), [[0.2, 0.6, 0.2]])


@pytest.mark.parametrize("scale", [1e-6, 1e-20, 1e30])
def test_huge_and_tiny_values_are_as_in_scikit_learn(scale):
    codes, target = Problem(3, 1, 100).draw(100)
    codes = codes * np.float32(scale)
    ours, theirs = Boosting().fit(codes, target), reference().fit(codes, target)
    np.testing.assert_allclose(ours.predict_proba(codes), theirs.predict_proba(codes), atol=1e-6)


@pytest.mark.parametrize(
    ("codes", "target", "message"),
    [
        (
            np.zeros((3, 2)),
            [1, 1, 1],
            "y: found shape (3,) with 1 different values; accepted:",
        ),
        (np.zeros((3, 2)), [0, 1], "y: found shape (2,)"),
        (
            np.full((3, 2), 1e39),
            [0, 1, 1],
            "X: found 1e+39 in size; accepted: numbers to 3.40282e+38 in size",
        ),
        (np.full((3, 2), np.nan), [0, 1, 1], "X: found nan in row 0, column 0"),
        (np.zeros(3), [0, 1, 1], "X: found shape (3,)"),
    ],
)
def test_what_cannot_be_learned_is_refused(codes, target, message):
    with pytest.raises(ValueError) as error:
        Boosting().fit(codes, target)
    assert str(error.value).startswith(message)
