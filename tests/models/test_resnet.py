"""Residual networks against Table 2 of Eastwood & Williams 2018, and against plain arithmetic."""

import numpy as np
import pytest
import torch
from torch import nn

from models import METHODS, RESNETS, build_objective
from models.architecture import VAE, initialise
from models.network import gaussian_loss
from models.recipe import Recipe
from models.resnet import WIDTHS, Block, ResNetDecoder, ResNetEncoder, doubled, halved, layer_norm
from models.training import Feed, TrainingModule, fit


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def seeded(*names: int) -> torch.Generator:
    return torch.Generator().manual_seed(sum(n * 1000**i for i, n in enumerate(names)))


def convolutions(network: nn.Module) -> list[tuple[int, int]]:
    """Channels of the 3x3 convolutions, in order."""
    return [
        (layer.in_channels, layer.out_channels)
        for layer in network.modules()
        if isinstance(layer, nn.Conv2d) and layer.kernel_size == (3, 3)
    ]


def test_the_networks_are_those_of_table_2():
    assert convolutions(ResNetEncoder(3, 10, "resnet")) == [
        (3, 64),
        *((64, 64), (64, 128)),
        *((128, 128), (128, 256)),
        *((256, 256), (256, 512)),
        *((512, 512), (512, 512)),
    ]
    decoder = ResNetDecoder(3, 10, "resnet")
    assert convolutions(decoder) == [
        *((512, 512), (512, 512)),
        *((512, 256), (256, 256)),
        *((256, 128), (128, 128)),
        *((128, 64), (64, 64)),
        (64, 3),
    ]
    assert decoder.layers[0].out_features == 4 * 4 * 8 * 64
    assert isinstance(decoder.layers[-1], nn.Tanh)
    with torch.no_grad():
        assert decoder(torch.zeros(2, 10)).shape == (2, 3, 64, 64)


@pytest.mark.parametrize("architecture", RESNETS)
def test_the_small_one_differs_in_its_width_alone(architecture):
    factor = WIDTHS[architecture] // WIDTHS["resnet_small"]
    wide, small = (convolutions(ResNetEncoder(3, 4, name)) for name in (architecture, RESNETS[1]))
    scaled = [(a if a == 3 else factor * a, factor * b) for a, b in small]
    assert wide == scaled


@pytest.mark.parametrize("larger", [True, False])
def test_a_block_in_plain_steps(larger):
    block = Block(2, 3, larger, layer_norm)
    values = torch.randn(4, 2, 6, 6, generator=seeded(1))

    def normalised(v: torch.Tensor) -> torch.Tensor:
        mean, variance = v.mean((1, 2, 3), keepdim=True), v.var((1, 2, 3), False, keepdim=True)
        return ((v - mean) / (variance + 1e-5).sqrt()).clamp(min=0)

    def larger_by_hand(v: torch.Tensor) -> torch.Tensor:
        return v.repeat_interleave(2, 2).repeat_interleave(2, 3)

    def smaller_by_hand(v: torch.Tensor) -> torch.Tensor:
        return (v[..., ::2, ::2] + v[..., 1::2, ::2] + v[..., ::2, 1::2] + v[..., 1::2, 1::2]) / 4

    assert torch.equal(doubled(values), larger_by_hand(values))
    assert torch.allclose(halved(values), smaller_by_hand(values))
    hidden = normalised(values)
    hidden = block.first(larger_by_hand(hidden) if larger else hidden)
    hidden = block.second(normalised(hidden))
    if larger:
        expected = block.shortcut(larger_by_hand(values)) + hidden
    else:
        expected = block.shortcut(smaller_by_hand(values)) + smaller_by_hand(hidden)
    assert torch.allclose(block(values), expected, atol=1e-5)


def test_the_loss_is_the_squared_error_of_pictures_from_minus_one_to_one():
    vae = VAE(1, 2, "resnet_small").eval()
    initialise(vae, seeded(1))
    images, codes = torch.rand(3, 1, 64, 64), torch.randn(3, 2)
    with torch.no_grad():
        decoded = vae.decoder(codes).numpy().astype(float)
        per_picture = ((decoded - (2 * images.numpy().astype(float) - 1)) ** 2).sum((1, 2, 3))
        np.testing.assert_allclose(vae.losses(images, codes).numpy(), per_picture, rtol=1e-5)
        whole = float(vae.reconstruction(vae.decoder(codes), images))
        pictures = vae.pictures(codes)
    assert whole == pytest.approx(per_picture.mean(), rel=1e-5)
    assert float(pictures.min()) >= 0 and float(pictures.max()) <= 1
    np.testing.assert_allclose(2 * pictures.numpy() - 1, decoded, atol=1e-6)
    assert float(gaussian_loss(torch.ones(2, 3), torch.zeros(2, 3))) == 3


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].has_posterior])
def test_every_vae_trains_all_weights_of_it_and_resumes_to_the_same_bytes(method):
    def training(steps: int) -> TrainingModule:
        def batch(number: int) -> torch.Tensor:
            return torch.rand(4, 1, 64, 64, generator=seeded(number, 1))

        made = TrainingModule(
            VAE(1, 2, "resnet_small"),
            build_objective(method, max(METHODS[method].strengths), 2),
            Recipe(steps=steps, learning_rate=1e-3),
            Feed(batch, lambda step: seeded(step, 2)),
        )
        made.initialise(seeded(0, 3))
        return made

    whole = training(40)
    before = {name: value.clone() for name, value in whole.vae.state_dict().items()}
    fit(whole)
    after = whole.vae.state_dict()
    still = [name for name, value in before.items() if torch.equal(value, after[name])]
    assert not [name for name in still if "num_batches" not in name]
    half = training(20)
    fit(half)
    resumed = training(40)
    resumed.restore(half.checkpoint())
    fit(resumed)
    assert all(torch.equal(value, after[name]) for name, value in resumed.vae.state_dict().items())
