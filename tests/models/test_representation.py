import io
import math

import numpy as np
import pytest
import torch
from PIL import Image

from models.architecture import VAE, initialise
from models.representation import (
    Unsupervised,
    decoded_samples,
    encode,
    reconstruction_losses,
    reconstructions,
    traversal,
    unsupervised,
)

TRAVERSAL = np.linspace(-2, 2, 9, dtype=np.float32)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def network(channels: int = 1, latents: int = 3) -> VAE:
    vae = VAE(channels, latents)
    initialise(vae, torch.Generator().manual_seed(0))
    return vae.eval()


def pictures(count: int, channels: int = 1) -> np.ndarray:
    shape = (count, channels, 64, 64)
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def opened(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)))


def cell(canvas: np.ndarray, row: int, column: int) -> np.ndarray:
    return canvas[row * 66 : row * 66 + 64, column * 66 : column * 66 + 64]


def test_encoding_does_not_depend_on_the_batches():
    vae, images = network(), pictures(300)
    mean, logvar = encode(vae, images)
    assert mean.shape == logvar.shape == (300, 3)
    assert mean.dtype == np.float32
    for some in (slice(0, 1), slice(250, 262), slice(299, 300)):
        again = encode(vae, images[some])
        np.testing.assert_allclose(again[0], mean[some], atol=1e-5)
        np.testing.assert_allclose(again[1], logvar[some], atol=1e-5)
    with torch.no_grad():
        whole = vae.encoder(torch.from_numpy(images))
    np.testing.assert_allclose(mean, whole[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(logvar, whole[1].numpy(), atol=1e-5)


def test_unsupervised_quantities_in_numpy():
    vae, images = network(), pictures(260)
    rng = np.random.default_rng(1)
    mean, logvar = rng.normal([[[10]], [[3]]], [[[10]], [[1]]], (2, 260, 3)).astype(np.float32)
    found = unsupervised(vae, images, mean, logvar, torch.Generator().manual_seed(2))
    m, v = mean.astype(float), logvar.astype(float)
    kl = [
        sum((m[i, j] ** 2 + math.exp(v[i, j]) - 1 - v[i, j]) / 2 for i in range(260)) / 260
        for j in range(3)
    ]
    np.testing.assert_allclose(found.kl_per_latent, kl, rtol=1e-6)
    assert found.kl == pytest.approx(sum(kl), rel=1e-6)
    noise = torch.randn(260, 3, generator=torch.Generator().manual_seed(2)).numpy()
    codes = (m + noise * np.exp(v / 2)).astype(np.float32)
    with torch.no_grad():
        logits = vae.decoder(torch.from_numpy(codes)).double().numpy()
    chance = 1 / (1 + np.exp(-logits))
    log_likelihood = images * np.log(chance) + (1 - images) * np.log(1 - chance)
    assert found.reconstruction == pytest.approx(-log_likelihood.sum() / 260, rel=1e-5)
    assert found.elbo == pytest.approx(log_likelihood.sum() / 260 - sum(kl), rel=1e-5)


@pytest.mark.parametrize("channels", [1, 3])
def test_losses_are_of_each_image(channels):
    vae, images = network(channels), pictures(130, channels)
    images[5:] *= np.linspace(0, 1, 125, dtype=np.float32)[:, None, None, None]
    codes = np.random.default_rng(1).normal(scale=100, size=(130, 3)).astype(np.float32)
    found = reconstruction_losses(vae, images, codes)
    with torch.no_grad():
        logits = vae.decoder(torch.from_numpy(codes)).double().numpy()
    expected = [
        (np.logaddexp(0, logit) - image * logit).sum()
        for logit, image in zip(logits, images, strict=True)
    ]
    assert found.shape == (130,) and found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.std(expected) > 1e-3 * np.mean(expected), "images must differ for a mix-up to show"
    alone = reconstruction_losses(vae, images[70:71], codes[70:71])
    assert alone == pytest.approx(found[70], rel=1e-6)


def test_kl_of_a_dead_latent_keeps_its_digits():
    """Differences of single-precision numbers near one would lose a KL of 1e-9."""
    mean, logvar = np.full((4, 1), 1e-4, np.float32), np.zeros((4, 1), np.float32)
    found = unsupervised(network(latents=1), pictures(4), mean, logvar, torch.Generator())
    assert found.kl_per_latent[0] == pytest.approx(0.5e-8, rel=1e-3)


def test_elbo_is_minus_both_terms():
    assert Unsupervised(3.0, np.array([0.5, 1.5], np.float32)).elbo == -5.0


@pytest.mark.parametrize("channels", [1, 3])
def test_traversal_moves_one_latent_per_row_by_falling_kl(channels):
    vae = network(channels)
    start = np.array([0.3, -0.7, 1.1], np.float32)
    kl = np.array([0.02, 0.005, 3.0], np.float32)  # the second is uninformative
    order, png = traversal(vae, start, kl, 0.01)
    assert order == [2, 0, 1]
    canvas = opened(png)
    assert canvas.shape[:2] == (3 * 66 - 2, 9 * 66 - 2)
    np.testing.assert_allclose(TRAVERSAL, [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2])
    for row, latent in enumerate(order):
        for column, value in enumerate(TRAVERSAL):
            moved = start.copy()
            moved[latent] = value
            with torch.no_grad():
                shown = torch.sigmoid(vae.decoder(torch.from_numpy(moved[None])))[0].numpy()
            if latent == 1:
                shown = 0.25 * shown + 0.55  # greyed: less contrast
            expected = shown[0] if channels == 1 else shown.transpose(1, 2, 0)
            found = cell(canvas, row, column).astype(float)
            assert np.abs(found - 255 * expected).max() <= 9, (row, column)
    assert start.tolist() == pytest.approx([0.3, -0.7, 1.1])


def test_equal_kls_keep_the_latents_order():
    kl = np.array([0.5, 0.5, 0.5], np.float32)
    order, _ = traversal(network(), np.zeros(3, np.float32), kl, 0.01)
    assert order == [0, 1, 2]


def test_reconstructions_stand_below_the_images():
    vae, images = network(), pictures(4)
    mean, _ = encode(vae, images)
    canvas = opened(reconstructions(vae, images, mean))
    assert canvas.shape == (2 * 66 - 2, 4 * 66 - 2)
    with torch.no_grad():
        decoded = torch.sigmoid(vae.decoder(torch.from_numpy(mean))).numpy()
    for column in range(4):
        for row, shown in ((0, images), (1, decoded)):
            difference = cell(canvas, row, column) - 255.0 * shown[column, 0]
            assert np.abs(difference).max() <= 9


@pytest.mark.parametrize("channels", [1, 3])
def test_samples_of_the_prior_are_decoded_in_their_places(channels):
    vae = network(channels)
    samples = np.random.default_rng(3).standard_normal((2, 5, 3), dtype=np.float32)
    canvas = opened(decoded_samples(vae, samples))
    assert canvas.shape[:2] == (2 * 66 - 2, 5 * 66 - 2)
    for row in range(2):
        for column in range(5):
            with torch.no_grad():
                decoded = torch.sigmoid(vae.decoder(torch.from_numpy(samples[row, column][None])))
            expected = 255 * decoded[0].numpy()
            expected = expected[0] if channels == 1 else expected.transpose(1, 2, 0)
            found = cell(canvas, row, column).astype(float)
            assert np.abs(found - expected).max() <= 9, (row, column)
