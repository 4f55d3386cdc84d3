import math
import statistics

import numpy as np
import pytest

from metrics.base.inputs import Groups
from metrics.base.rows import table_groups
from metrics.base.votes import _variances
from metrics.factor_vae import factor_vae


def value(scores, part, factor=None):
    (found,) = [row.value for row in scores if (row.part, row.factor) == (part, factor)]
    return found


def by_definition(codes, train, test, threshold):
    """The definition in loops over groups."""
    variance = [statistics.variance(latent) for latent in codes.T.tolist()]
    found = by_vote(train, test, variance, {a for a, v in enumerate(variance) if v >= threshold})
    loose = {a for a, v in enumerate(variance) if math.sqrt(v) >= threshold}
    found["score_std_pruned", None] = by_vote(train, test, variance, loose)["score", None]
    chance = 1 / len({*train.factor.tolist(), *test.factor.tolist()})
    found["calibrated", None] = (found["score", None] - chance) / (1 - chance)
    return found


def by_vote(train, test, variance, active):
    active = sorted(active)

    def vote(group):
        relative = [statistics.variance(group[:, a].tolist()) / variance[a] for a in active]
        return active[relative.index(min(relative))]

    ballots = {latent: {} for latent in active}
    for group, factor in zip(train.codes, train.factor.tolist(), strict=True):
        box = ballots[vote(group)]
        box[factor] = box.get(factor, 0) + 1
    elected = {
        latent: min(box, key=lambda factor: (-box[factor], factor)) if box else 0
        for latent, box in ballots.items()
    }

    def right(groups):
        pairs = zip(groups.codes, groups.factor.tolist(), strict=True)
        return [elected[vote(group)] == factor for group, factor in pairs]

    found = {("score", None): statistics.mean(right(test))}
    found["train_accuracy", None] = statistics.mean(right(train))
    found["active", None] = len(active)
    for factor in set(test.factor.tolist()):
        hits = zip(right(test), test.factor.tolist(), strict=True)
        found["accuracy", factor] = statistics.mean(hit for hit, own in hits if own == factor)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_the_definition(seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, [3, 5, 2], size=(300, 3))
    codes = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    codes[:, 1] *= 0.22 / codes[:, 1].std()  # variance 0.0484 and, with n - 1, still below 0.05
    train, test = (table_groups(codes, factors, count, 6, rng) for count in (80, 60))
    expected = by_definition(codes, train, test, 0.05)
    assert expected["active", None] == 3
    assert expected["score_std_pruned", None] != expected["score", None]
    found = {(row.part, row.factor): row.value for row in factor_vae(codes, train, test)}
    assert found == pytest.approx(expected)


def test_a_perfect_representation_scores_one():
    factors = np.random.default_rng(0).integers(0, [3, 4, 5], size=(2000, 3))
    rng = np.random.default_rng(1)
    codes = factors[:, [2, 0, 1]] * [-1.0, 2.0, 0.5]
    train, test = (table_groups(codes, factors, 500, 64, rng) for _ in range(2))
    scores = factor_vae(codes, train, test)
    assert [row.value for row in scores] == [1, 1, 1, 1, 3, 1, 1, 1]


@pytest.mark.parametrize(("below", "active"), [(0.0499, 1), (0.0501, 2)])
def test_variance_has_n_minus_one_below_and_a_threshold(below, active):
    second = np.array([-1.0, 1.0]) * np.sqrt(below / 2)  # variance 0.0499 only with n - 1
    codes = np.column_stack([[0.0, 1.0], second])
    groups = Groups(codes[None], np.array([0]))
    assert value(factor_vae(codes, groups, groups), "active") == active


def test_a_variance_equal_to_the_threshold_is_active():
    groups = Groups(np.array([[[0.0], [1.0]]]), np.array([0]))
    assert value(factor_vae(np.array([[0.0], [1.0]]), groups, groups, 0.5), "active") == 1


def test_no_active_latent_scores_zero():
    rng = np.random.default_rng(0)
    codes, factors = 0.1 * rng.normal(size=(50, 3)), rng.integers(0, 2, size=(50, 2))
    groups = table_groups(codes, factors, 30, 8, rng)
    parts = {"score": 0, "calibrated": -1, "train_accuracy": 0, "active": 0}
    scores = factor_vae(codes, groups, groups)
    assert {part: value(scores, part) for part in parts} == parts
    assert [value(scores, "accuracy", factor) for factor in range(2)] == [0, 0]
    dead = Groups(np.zeros((2, 4, 3)), np.array([0, 1]))
    scores = factor_vae(np.ones((5, 3)), dead, dead, 0)
    assert [row.value for row in scores] == [0, -1, 0, 0, 0, 0, 0]
    squares_vanish = 1e-200 * np.arange(15.0).reshape(5, 3)
    assert value(factor_vae(squares_vanish, dead, dead, 0), "active") == 0
    rounded = np.full((500, 3), 1e17 / 3)  # its mean, and so its variance, has a rounding error
    assert rounded.var() > 1
    assert value(factor_vae(rounded, dead, dead), "active") == 0
    assert value(factor_vae(np.ones((1, 3)), dead, dead), "score") == 0


def groups_voting(latents, factor):
    """Groups whose smallest variance lies in the latents told; -1 means a tie of all."""
    codes = np.tile([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]], (len(latents), 1, 1))
    for group, latent in enumerate(latents):
        if latent >= 0:
            codes[group, :, latent] = 0
    return Groups(codes, np.array(factor))


def test_ties_and_latents_without_votes_go_to_the_lower_index():
    codes = np.random.default_rng(0).choice([-1.0, 1.0], size=(100, 3))
    codes = codes / codes.std(axis=0)  # equal variances, so that ties are ties
    # Latent 1 votes for factors 2 and 1 equally often, and so stands for 1; latents 0 and 2 never
    # vote, and stand for factor 0.
    train = groups_voting([1, 1, 1, 1], [2, 1, 2, 1])
    test = groups_voting([1, 1, 2, 0, 2], [1, 2, 0, 0, 1])
    scores = factor_vae(codes, train, test)
    assert value(scores, "score") == pytest.approx(3 / 5)
    assert value(scores, "train_accuracy") == 0.5
    assert [value(scores, "accuracy", factor) for factor in range(3)] == [1, 0.5, 0]
    # An equal variance in all latents is a vote of latent 0.
    tied = factor_vae(codes, groups_voting([-1, 1], [1, 0]), groups_voting([-1], [1]))
    assert value(tied, "score") == 1


def test_calibrated_is_zero_for_guessing_and_for_a_single_factor():
    codes = np.random.default_rng(0).normal(size=(100, 3))
    train, test = groups_voting([0, 1], [0, 1]), groups_voting([0, 0, 1, 1], [0, 1, 0, 1])
    scores = factor_vae(codes, train, test)
    assert (value(scores, "score"), value(scores, "calibrated")) == (0.5, 0)
    # Three quarters right among two factors: half way from guessing.
    test = groups_voting([0, 0, 1, 1], [0, 1, 1, 1])
    assert value(factor_vae(codes, train, test), "calibrated") == 0.5
    # The same among three: (1/2 - 1/3) / (1 - 1/3).
    test = groups_voting([0, 0, 1, 1], [0, 2, 1, 2])
    assert value(factor_vae(codes, train, test), "calibrated") == pytest.approx(1 / 4)
    single = groups_voting([0, 1], [0, 0])
    scores = factor_vae(codes, single, single)
    assert (value(scores, "score"), value(scores, "calibrated")) == (1, 0)


def test_a_factor_in_test_groups_only_is_never_right():
    codes = np.random.default_rng(0).normal(size=(100, 3))
    scores = factor_vae(codes, groups_voting([0, 1], [0, 1]), groups_voting([0, 2], [0, 5]))
    assert value(scores, "score") == 0.5
    assert value(scores, "accuracy", 5) == 0


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            Groups(np.zeros((4, 1, 3)), np.zeros(4, int)),
            r"found shape \(4, 1, 3\); accepted: \(4, 2 or more",
        ),
        (
            Groups(np.zeros((4, 5, 2)), np.zeros(4, int)),
            r"found shape \(4, 5, 2\); accepted: \(4, 2 or more",
        ),
        (Groups(np.zeros((4, 5, 3)), np.zeros(3, int)), r"accepted: \(3, 2 or more, 3\)"),
        (Groups(np.zeros((4, 5, 3)), np.full(4, -1)), r"test.factor: found -1"),
        (
            Groups(np.zeros((4, 5, 3)), np.zeros(4)),
            r"test.factor: found float64; accepted: integers",
        ),
        (Groups(np.full((4, 5, 3), np.nan), np.zeros(4, int)), r"group 0, point 0, latent 0"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    good = Groups(np.zeros((2, 5, 3)), np.zeros(2, int))
    with pytest.raises(ValueError, match=message):
        factor_vae(np.zeros((10, 3)), good, groups)


def test_variances_in_blocks_are_those_of_all_groups_at_once():
    codes = np.random.default_rng(0).normal(size=(700, 9, 4)).astype(np.float32)
    assert np.array_equal(_variances(codes), codes.var(axis=1, ddof=1, dtype=np.float64))
