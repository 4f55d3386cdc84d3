"""PCA against the singular value decomposition of all pixels at once."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA as SklearnPCA

from models import METHODS, NO_STRENGTH
from models.building import build_network, build_training
from models.pca import PCA
from models.recipe import Recipe
from models.representation import encode, reconstructions
from models.training import Feed

COUNT, LATENTS = 300, 5


def pictures(channels: int = 1) -> np.ndarray:
    """Pictures whose variance falls slowly from direction to direction; two pixels never change."""
    draws = np.random.default_rng(0)
    directions = draws.normal(size=(40, channels * 64 * 64))
    weights = draws.normal(size=(COUNT, 40)) / np.arange(1, 41)
    images = 0.5 + 0.05 * weights @ directions
    images[:, 7], images[:, 8] = 1.0, 0.25
    return images.clip(0, 1).reshape(COUNT, channels, 64, 64).astype(np.float32)


def fitted(images: np.ndarray, latents: int = LATENTS, block: int = 70) -> PCA:
    network = build_network("pca", images.shape[1], latents, "paper")
    parts = [torch.from_numpy(images[i : i + block]) for i in range(0, len(images), block)]
    feed = Feed(lambda number: parts[0], lambda step: torch.Generator(), lambda: iter(parts))
    training = build_training("pca", NO_STRENGTH, network, Recipe(), feed)
    training.initialise(torch.Generator().manual_seed(1))
    training.run()
    assert training.done == training.steps == 0 and training.curve == []
    return network


@pytest.mark.parametrize("channels", [1, 3])
def test_codes_and_components_are_those_of_a_decomposition_of_all_pixels(channels):
    images = pictures(channels)
    network = fitted(images)
    flat = images.reshape(COUNT, -1).astype(float)
    deviation = flat.std(0)
    standardised = np.divide(flat - flat.mean(0), deviation, where=deviation > 1e-6,
                             out=np.zeros_like(flat))  # fmt: skip
    reference = SklearnPCA(LATENTS, svd_solver="full", whiten=True)
    expected = reference.fit_transform(standardised) * np.sqrt(COUNT / (COUNT - 1))
    codes, logvar = encode(network, images)
    assert logvar is None
    cosines = (network.components.numpy() * reference.components_).sum(1)
    np.testing.assert_allclose(abs(cosines), 1, atol=1e-5)
    np.testing.assert_allclose(codes * np.sign(cosines), expected, atol=2e-2)
    np.testing.assert_allclose(codes.std(0), 1, atol=1e-3)


def test_the_order_is_by_variance_and_the_largest_weight_is_positive():
    network = fitted(pictures())
    assert (np.diff(network.scales.numpy()) < 0).all()
    components = network.components.numpy()
    largest = components[np.arange(LATENTS), abs(components).argmax(1)]
    assert (largest > 0).all()
    np.testing.assert_allclose(components @ components.T, np.eye(LATENTS), atol=1e-5)


def test_blocks_do_not_matter():
    images = pictures()
    one, many = fitted(images, block=COUNT), fitted(images, block=13)
    for name, value in one.state_dict().items():
        np.testing.assert_allclose(value.numpy(), many.state_dict()[name].numpy(), atol=2e-3)


def test_with_as_many_latents_as_directions_pictures_come_back():
    draws = np.random.default_rng(1)
    images = 0.5 + 0.02 * draws.normal(size=(60, 3)) @ draws.normal(size=(3, 64 * 64))
    images = images.reshape(60, 1, 64, 64).astype(np.float32)
    network = fitted(images, latents=3)
    codes, _ = encode(network, images)
    back = network.pictures(torch.from_numpy(codes)).numpy()
    np.testing.assert_allclose(back, images, atol=1e-3)
    assert reconstructions(network, images[:2], codes[:2]).startswith(b"\x89PNG")


def test_pictures_that_are_all_equal_have_codes_of_zero():
    images = np.full((20, 1, 64, 64), 0.5, np.float32)
    network = fitted(images, latents=2)
    codes, _ = encode(network, images)
    assert not codes.any()
    np.testing.assert_array_equal(network.pictures(torch.from_numpy(codes)).numpy(), images)


def test_it_has_neither_strength_nor_steps_nor_posterior():
    facts = METHODS["pca"]
    assert (facts.symbol, facts.strengths) == ("", ())
    assert not (facts.has_steps or facts.has_posterior)
