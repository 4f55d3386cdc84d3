import math

import pytest
import torch
from torch import nn

from models.architecture import VAE, initialise

# Table 2 of Locatello et al. 2019 by hand: kernels, and inputs, outputs and side of each layer.
ENCODER = {"paper": (4, 4, 4, 4), "library": (4, 4, 2, 2)}


def parameters(layer: nn.Module) -> int:
    return sum(parameter.numel() for parameter in layer.parameters())


def kernels(network: nn.Module, kind: type[nn.Module]) -> list[nn.Module]:
    return [layer for layer in network.modules() if isinstance(layer, kind)]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("architecture", ["paper", "library"])
@pytest.mark.parametrize("latents", [2, 10])
def test_layers_are_those_of_table_2(channels, architecture, latents):
    vae = VAE(channels, latents, architecture)
    widths = (channels, 32, 32, 64, 64)
    by_hand = [
        kernel**2 * inputs * outputs + outputs
        for kernel, inputs, outputs in zip(
            ENCODER[architecture], widths[:-1], widths[1:], strict=True
        )
    ]
    assert [parameters(layer) for layer in kernels(vae.encoder, nn.Conv2d)] == by_hand
    dense = [1024 * 256 + 256, 256 * latents + latents, 256 * latents + latents]
    assert [parameters(layer) for layer in kernels(vae.encoder, nn.Linear)] == dense
    assert [parameters(layer) for layer in kernels(vae.decoder, nn.Linear)] == [
        latents * 256 + 256,
        256 * 1024 + 1024,
    ]
    assert [parameters(layer) for layer in kernels(vae.decoder, nn.ConvTranspose2d)] == [
        16 * 64 * 64 + 64,
        16 * 64 * 32 + 32,
        16 * 32 * 32 + 32,
        16 * 32 * channels + channels,
    ]
    assert len(kernels(vae, nn.ReLU)) == 5 + 5


def test_whole_networks_have_the_size_computed_from_the_table():
    # 544 + 16,416 + 32,832 + 65,600 + 262,400 + 2 * 2,570, and
    # 2,816 + 263,168 + 65,600 + 32,800 + 16,416 + 513
    vae = VAE(1, 10)
    assert (parameters(vae.encoder), parameters(vae.decoder)) == (382_932, 381_313)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("architecture", ["paper", "library"])
def test_shapes(channels, architecture):
    vae = VAE(channels, 7, architecture)
    mean, logvar = vae.encoder(torch.rand(5, channels, 64, 64))
    assert mean.shape == logvar.shape == (5, 7)
    assert vae.decoder(mean).shape == (5, channels, 64, 64)


def test_convolutions_halve_the_side():
    sides = []
    vae = VAE(1, 3, "library", fast=False)  # fast layers have no insides to look into
    for layer in kernels(vae, nn.Conv2d) + kernels(vae, nn.ConvTranspose2d):
        layer.register_forward_hook(lambda _, __, made: sides.append(tuple(made.shape[-2:])))
    vae.decoder(vae.encoder(torch.rand(1, 1, 64, 64))[0])
    assert sides == [(s, s) for s in (32, 16, 8, 4, 8, 16, 32, 64)]


def test_unknown_architecture_is_refused():
    with pytest.raises(KeyError, match="papers"):
        VAE(1, 10, "papers")


def fans(weight: torch.Tensor) -> int:
    """Inputs and outputs of a kernel together: both count the kernel's own area."""
    area = math.prod(weight.shape[2:])
    return (weight.shape[0] + weight.shape[1]) * area


def test_kernels_start_glorot_uniform_and_biases_at_zero():
    vae = VAE(3, 10)
    initialise(vae, torch.Generator().manual_seed(1))
    for name, values in vae.state_dict().items():
        if name.endswith("bias"):
            assert not values.any(), name
            continue
        bound = math.sqrt(6 / fans(values))
        assert values.abs().max() <= bound, name
        assert values.abs().max() > 0.98 * bound, name  # at least 1,536 draws
        # A uniform law: its deviation is bound / sqrt(3), its mean 0.
        assert float(values.std()) == pytest.approx(bound / math.sqrt(3), rel=0.05), name
        assert abs(float(values.mean())) < 5 * bound / math.sqrt(3 * values.numel()), name


def test_same_seed_same_weights_and_the_rest_of_torch_does_not_matter():
    def drawn(seed: int, world: int) -> list[torch.Tensor]:
        torch.manual_seed(world)
        vae = VAE(1, 4)
        initialise(vae, torch.Generator().manual_seed(seed))
        return list(vae.parameters())

    first, again, other = drawn(5, 0), drawn(5, 1), drawn(6, 0)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    kernel_pairs = [(a, b) for a, b in zip(first, other, strict=True) if a.dim() > 1]
    assert not any(torch.equal(a, b) for a, b in kernel_pairs)


def test_layers_do_not_start_equal():
    vae = VAE(1, 4)
    initialise(vae, torch.Generator().manual_seed(0))
    assert not torch.equal(vae.encoder.mean.weight, vae.encoder.logvar.weight)
