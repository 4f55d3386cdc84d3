"""Noise on labels: planted shares, clipping, wrapping, deviations, and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.base.label_noise import Noise, noisy_reals, noisy_values

KINDS = ("categorical", "ordered", "periodic")
noises = st.builds(Noise, st.integers(1, 50), st.sampled_from(KINDS), st.floats(0, 1))


def noisy(values, size, kind, p, seed=0):
    return noisy_values(np.asarray(values), Noise(size, kind, p), np.random.default_rng(seed))


@given(noises, st.integers(0, 2**32 - 1), st.lists(st.integers(0, 49), max_size=30))
def test_values_stay_values_of_the_factor(noise, seed, values):
    clean = np.array(values, np.int64) % noise.size
    told = noisy_values(clean, noise, np.random.default_rng(seed))
    assert told.dtype == np.int64 and told.shape == clean.shape
    assert ((told >= 0) & (told < noise.size)).all()
    again = noisy_values(clean, noise, np.random.default_rng(seed))
    np.testing.assert_array_equal(told, again)


@given(noises, st.integers(0, 2**32 - 1), st.lists(st.integers(0, 49), max_size=30))
def test_p_of_0_changes_nothing_and_takes_as_many_draws(noise, seed, values):
    clean = np.array(values, np.int64) % noise.size
    draws, other = np.random.default_rng(seed), np.random.default_rng(seed)
    np.testing.assert_array_equal(
        noisy_values(clean, Noise(noise.size, noise.kind, 0), draws), clean
    )
    noisy_values(clean, noise, other)
    assert draws.random() == other.random()


@given(
    st.floats(-1e6, 1e6),
    st.floats(0, 1e6),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
    st.sampled_from(("ordered", "periodic")),
)
def test_real_values_stay_in_their_range(low, width, p, seed, kind):
    clean = np.linspace(low, low + width, 7)
    draws = np.random.default_rng(seed)
    told = noisy_reals(clean, Noise(10, kind, p), low, clean.max(), draws)
    assert ((told >= low) & (told <= clean.max())).all()
    none = Noise(10, kind, 0.0)
    np.testing.assert_array_equal(noisy_reals(clean, none, low, clean.max(), draws), clean)


def test_a_uniform_label_changes_in_its_share():
    """Of three values drawn anew with p = 1, one in three is the old one."""
    clean = np.random.default_rng(1).integers(3, size=90_000)
    for p in (1.0, 0.3):
        told = noisy(clean, 3, "categorical", p)
        share = p * (1 - 1 / 3)
        error = 4 * np.sqrt(share * (1 - share) / len(clean))
        assert (told != clean).mean() == pytest.approx(share, abs=error)
    told = noisy(np.zeros(90_000, int), 3, "categorical", 1.0)
    assert np.bincount(told) / len(told) == pytest.approx([1 / 3] * 3, abs=0.01)


def test_an_ordered_label_moves_by_a_normal_deviation():
    """In the middle of 2001 values nothing is clipped, and rounding adds a variance of 1/12."""
    steps = noisy(np.full(100_000, 1000), 2001, "ordered", 0.01) - 1000
    assert steps.std() == pytest.approx(np.sqrt((0.01 * 2000) ** 2 + 1 / 12), rel=0.01)
    assert abs(steps.mean()) < 4 * 20 / np.sqrt(len(steps))
    assert (abs(steps) < 20).mean() == pytest.approx(0.683 - 0.012, abs=0.01)


def test_an_ordered_label_ends_at_its_ends():
    told = noisy(np.zeros(100_000, int), 11, "ordered", 1.0)
    assert (told == 0).mean() == pytest.approx(0.5 + 0.5 * 0.0399, abs=0.01)  # below half a place
    assert (told == 10).mean() == pytest.approx(0.171, abs=0.01)  # above 9.5 of a deviation of 10


def test_a_periodic_label_goes_on_at_the_other_end():
    told = noisy(np.zeros(100_000, int), 40, "periodic", 0.05)
    near = np.minimum(told, 40 - told)
    assert near.max() < 12 and (told > 20).mean() == pytest.approx(
        (told[told > 0] < 20).mean() * (told > 0).mean(), abs=0.01
    )
    assert np.sqrt((near**2).mean()) == pytest.approx(np.sqrt((0.05 * 39) ** 2 + 1 / 12), rel=0.02)


def test_of_a_factor_with_one_value_nothing_changes():
    for kind in KINDS:
        assert not noisy(np.zeros(100, int), 1, kind, 1.0).any()


@pytest.mark.parametrize("kind", ["ordered", "periodic"])
def test_real_values_and_their_bins_move_by_the_same_draws(kind):
    clean = np.arange(1001)
    noise = Noise(1001, kind, 0.1)
    told = noisy_reals(clean / 1000, noise, 0.0, 1.0, np.random.default_rng(3))
    places = noisy(clean, 1001, kind, 0.1, seed=3)
    assert (places != clean).mean() > 0.9
    if kind == "ordered":
        np.testing.assert_allclose(told, places / 1000, atol=0.00051)
    else:  # the circle of places has one step more than the range of values
        apart = np.abs(told - places / 1000)
        assert np.minimum(apart, 1 - apart).max() < 0.002
        assert (np.abs(told - clean / 1000) > 0.5).any()
