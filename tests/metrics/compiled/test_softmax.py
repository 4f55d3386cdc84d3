import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import log_softmax

from metrics.compiled.softmax import BLOCK, SoftmaxLoss


def by_definition(codes, target, classes, coefficients, ridge):
    """Loss and gradient, row by row and class by class."""
    rows, latents = codes.shape
    weights = coefficients.reshape(-1, latents + 1)
    if classes == 2:
        weights = np.vstack([np.zeros(latents + 1), weights])
    loss, gradient = 0.0, np.zeros_like(weights)
    for row, own in zip(codes, target, strict=True):
        told = log_softmax(weights[:, :-1] @ row + weights[:, -1])
        loss -= told[own] / rows
        for place in range(classes):
            pull = (np.exp(told[place]) - (place == own)) / rows
            gradient[place] += pull * np.append(row, 1)
    slopes = weights[:, :-1]
    gradient[:, :-1] += ridge * slopes
    return loss + ridge / 2 * (slopes**2).sum(), gradient[int(classes == 2) :].ravel()


@pytest.mark.parametrize(
    ("rows", "classes", "latents"),
    [
        (1, 2, 1),
        (2, 3, 4),
        (7, 41, 3),
        (BLOCK - 1, 4, 10),
        (BLOCK, 2, 4),
        (BLOCK, 3, 3),
        (BLOCK + 1, 41, 1),
        (2 * BLOCK + 9, 2, 10),
        (2 * BLOCK + 9, 4, 3),
    ],
)
def test_agrees_with_the_definition(rows, classes, latents):
    rng = np.random.default_rng(rows + classes + latents)
    codes, target = rng.normal(size=(rows, latents)), rng.integers(classes, size=rows)
    loss = SoftmaxLoss(codes, target, classes)
    for ridge in (0.0, 0.7):  # twice, so that nothing is left over from the first call
        coefficients = rng.normal(size=loss.start.size)
        expected = by_definition(codes, target, classes, coefficients, ridge)
        found = loss(coefficients, ridge)
        assert found[0] == pytest.approx(expected[0], abs=1e-13, rel=1e-13)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-13)


def test_worked_example():
    # Two rows, 0 and 2, of the first and the second class. With coefficient ln 3 / 2 and intercept
    # 0 the second class has the odds 1 and 3: losses ln 2 and ln 4/3. Slopes, over two rows:
    # 0 · 1/2 - 2 · 1/4, and 1/2 - 1/4.
    loss = SoftmaxLoss(np.array([[0.0], [2.0]]), np.array([0, 1]), 2)
    value, gradient = loss(np.array([np.log(3) / 2, 0.0]), 0.0)
    assert value == pytest.approx(np.log(2 * 4 / 3) / 2)
    assert gradient == pytest.approx([-1 / 4, 1 / 8])
    # A ridge of 8 adds 4 times the coefficient's square, and 8 times the coefficient.
    value, gradient = loss(np.array([np.log(3) / 2, 5.0]), 8.0)
    without = loss(np.array([np.log(3) / 2, 5.0]), 0.0)
    assert value - without[0] == pytest.approx(np.log(3) ** 2)
    assert gradient - without[1] == pytest.approx([4 * np.log(3), 0])


@pytest.mark.parametrize("classes", [2, 5])
def test_the_gradient_is_the_loss_s(classes):
    rng = np.random.default_rng(0)
    loss = SoftmaxLoss(rng.normal(size=(30, 3)), rng.integers(classes, size=30), classes)
    point = rng.normal(size=loss.start.size)
    error = check_grad(lambda x: loss(x, 0.3)[0], lambda x: loss(x, 0.3)[1], point)
    assert error < 1e-6


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    size=st.sampled_from([1e-300, 1e-5, 1.0, 30.0, 1e3, 1e6]),
    shift=st.sampled_from([0.0, 50.0, -1e4]),
    seed=st.integers(0, 1000),
)
def test_scores_of_any_size_are_as_good(size, shift, seed):
    """Also those whose exponentials are beyond what a number can hold."""
    rng = np.random.default_rng(seed)
    codes, target = rng.normal(size=(20, 3)) * size, rng.integers(5, size=20)
    loss = SoftmaxLoss(codes, target, 5)
    coefficients = rng.normal(size=loss.start.size)
    coefficients.reshape(5, -1)[:, -1] += shift
    expected = by_definition(codes, target, 5, coefficients, 0.1)
    found = loss(coefficients, 0.1)
    assert found[0] == pytest.approx(expected[0], rel=1e-11)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-10 * max(size, 1), rtol=1e-10)


def test_exponentials_are_good_to_the_last_bits():
    # Scores 0 and -x: the loss of the first class is log(1 + exp(-x)).
    away = np.linspace(0, 36, 4001)
    for x in away:
        value, _ = SoftmaxLoss(np.array([[-x]]), np.array([0]), 2)(np.array([1.0, 0.0]), 0.0)
        assert value == pytest.approx(np.log1p(np.exp(-x)), abs=3e-16, rel=3e-16)


def test_inputs_stay_as_they_are():
    rng = np.random.default_rng(0)
    codes, target = rng.normal(size=(9, 2)), rng.integers(3, size=9)
    before = codes.copy(), target.copy()
    loss = SoftmaxLoss(codes, target, 3)
    point = rng.normal(size=loss.start.size)
    kept = point.copy()
    first, gradient = loss(point, 1.0)
    saved = gradient.copy()
    loss(2 * point, 1.0)
    np.testing.assert_array_equal(gradient, saved)  # an optimiser may keep it
    np.testing.assert_array_equal(point, kept)
    np.testing.assert_array_equal(codes, before[0])
    np.testing.assert_array_equal(target, before[1])
    assert loss(point, 1.0)[0] == first
