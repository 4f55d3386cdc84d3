import math
import statistics

import numpy as np
import pytest

from metrics.base.inputs import Groups, Inputs
from metrics.base.rows import table_variations
from metrics.rf_vae import evaluate, rf_vae


def scores(codes, train, test, **settings):
    return {(row.part, row.factor): row.value for row in rf_vae(codes, train, test, **settings)}


def by_definition(codes, train, test, active):
    """The definition in loops over groups."""
    variance = [statistics.variance(latent) for latent in codes.T.tolist()]

    def vote(group):
        relative = {a: statistics.variance(group[:, a].tolist()) / variance[a] for a in active}
        return max(relative, key=lambda latent: (relative[latent], -latent))

    ballots = {latent: [] for latent in active}
    for group, factor in zip(train.codes, train.factor.tolist(), strict=True):
        ballots[vote(group)].append(factor)
    elected = {
        latent: min(box, key=lambda factor: (-box.count(factor), factor)) if box else 0
        for latent, box in ballots.items()
    }

    def right(groups, only=None):
        pairs = zip(groups.codes, groups.factor.tolist(), strict=True)
        return statistics.mean(
            elected[vote(group)] == factor for group, factor in pairs if only in (None, factor)
        )

    chance = 1 / len({*train.factor.tolist(), *test.factor.tolist()})
    return {
        ("score", None): right(test),
        ("calibrated", None): (right(test) - chance) / (1 - chance),
        ("train_accuracy", None): right(train),
        ("active", None): len(active),
        **{("accuracy", factor): right(test, factor) for factor in set(test.factor.tolist())},
    }


@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_agrees_with_the_definition(seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, [3, 5, 2], size=(300, 3))
    codes = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    codes[:, 1] *= 0.22 / codes[:, 1].std()  # variance below 0.05, standard deviation above
    train, test = (table_variations(codes, factors, count, 6, rng) for count in (80, 60))
    expected = by_definition(codes, train, test, active=[0, 2, 3])
    std_pruned = by_definition(codes, train, test, active=[0, 1, 2, 3])["score", None]
    expected["score_std_pruned", None] = std_pruned
    assert 0.3 < expected["score", None] < 0.95
    assert std_pruned != expected["score", None]
    assert scores(codes, train, test) == pytest.approx(expected)
    inputs = Inputs(codes, factors, train_variations=train, test_variations=test)
    assert evaluate(inputs, rng)[0].value == pytest.approx(expected["score", None])


def test_a_perfect_representation_scores_one_at_any_scale():
    factors = np.random.default_rng(0).integers(0, [3, 4, 5], size=(3000, 3))
    codes = factors[:, [2, 0, 1]] * [-1e100, 2.0, 0.5]
    rng = np.random.default_rng(1)
    train, test = (table_variations(codes, factors, 300, 64, rng) for _ in range(2))
    assert [row.value for row in rf_vae(codes, train, test)] == [1, 1, 1, 1, 3, 1, 1, 1]
    tiny = [Groups(1e-100 * groups.codes, groups.factor) for groups in (train, test)]
    assert scores(1e-100 * codes, *tiny)["active", None] == 1  # the first was huge
    found = scores(1e-100 * codes, *tiny, threshold=0)
    assert (found["active", None], found["score", None]) == (3, 1)


def test_worked_example():
    # Variances of latents over all points: 1 and 4 (times 4/3). Relative variances of the groups
    # below are 3/4 times (first latent) the squared half width and (second) a quarter of it.
    codes = np.array([[-1.0, -2.0], [1.0, -2.0], [-1.0, 2.0], [1.0, 2.0]])

    def groups(widths, factor):
        half = np.array(widths, float)[:, None, :]
        return Groups(7 + np.concatenate([-half, half], axis=1), np.array(factor))

    # Training: the first latent votes for 1, 1, 0 and so stands for 1; the second for 2.
    train = groups([[3, 4], [2, 0], [1, 1], [1, 3]], [1, 1, 0, 2])
    test = groups(
        [
            [2, 3],  # 4 against 9/4: the first latent, though the second has more variance: 1
            [1, 4],  # 1 against 4: the second latent, 2
            [1, 2],  # a tie: the first latent, 1
            [0, 0],  # nothing varies: the first latent, 1
        ],
        [1, 2, 1, 2],
    )
    assert scores(codes, train, test) == {
        ("score", None): 3 / 4,
        ("calibrated", None): pytest.approx((3 / 4 - 1 / 3) / (1 - 1 / 3)),
        ("train_accuracy", None): 3 / 4,
        ("score_std_pruned", None): 3 / 4,
        ("active", None): 2,
        ("accuracy", 1): 1,
        ("accuracy", 2): 1 / 2,
    }


def test_a_dead_latent_never_votes_and_without_others_scores_are_zero():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4], size=(500, 2))
    dead_first = np.column_stack([np.full(500, 0.1), factors])
    train, test = (table_variations(dead_first, factors, 200, 32, rng) for _ in range(2))
    found = scores(dead_first, train, test, threshold=0)
    assert (found["score", None], found["active", None]) == (1, 2)
    dead = Groups(np.full((2, 4, 3), 0.1), np.array([0, 1]))
    found = [row.value for row in rf_vae(np.full((5, 3), 0.1), dead, dead, threshold=0)]
    assert found == [0, -1, 0, 0, 0, 0, 0]


def test_variance_below_the_threshold_is_left_out():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4], size=(500, 2))
    codes = factors * [1.0, math.sqrt(0.0499) / factors[:, 1].std(ddof=1)]
    train, test = (table_variations(codes, factors, 200, 32, rng) for _ in range(2))
    found = scores(codes, train, test)
    assert found["active", None] == 1
    assert found["score", None] == pytest.approx(0.5, abs=0.1)
    assert found["score_std_pruned", None] == 1


def test_bad_groups_are_refused():
    good, bad = (Groups(np.zeros((2, size, 3)), np.zeros(2, int)) for size in (5, 1))
    with pytest.raises(
        ValueError, match=r"train.codes: found shape \(2, 1, 3\); accepted: \(2, 2 or more"
    ):
        rf_vae(np.zeros((10, 3)), bad, good)
