"""Recorded activations against torch's own layers, one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from models import DECODER_LAYERS
from models.architecture import VAE, initialise
from models.traces import activations
from models.training import encode

NAMES = list(DECODER_LAYERS)


def a_vae(fast: bool, architecture: str = "paper") -> VAE:
    vae = VAE(1, 3, architecture, fast)
    initialise(vae, torch.Generator().manual_seed(0))
    for number, parameter in enumerate(vae.parameters()):  # biases that matter
        if parameter.dim() == 1:
            parameter.data.uniform_(-0.3, 0.3, generator=torch.Generator().manual_seed(number))
    return vae.to(memory_format=torch.channels_last)


def images(count: int) -> np.ndarray:
    return torch.rand(count, 1, 64, 64, generator=torch.Generator().manual_seed(1)).numpy()


def by_hand(vae: VAE, pictures: np.ndarray) -> dict[str, np.ndarray]:
    """The outputs of the ReLUs, by name, in double precision, from hooks on plain modules."""
    exact = VAE(1, 3, vae.architecture, fast=False)
    exact.load_state_dict(vae.state_dict())
    exact.double()
    found: list[torch.Tensor] = []
    for layer in exact.decoder.layers:
        if isinstance(layer, nn.ReLU):
            layer.register_forward_hook(lambda module, inputs, output: found.append(output))
    with torch.no_grad():
        exact.decoder(exact.encoder(torch.from_numpy(pictures).double())[0])
    return {
        name: output.reshape(len(pictures), -1).numpy()
        for name, output in zip(NAMES, found, strict=True)
    }


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("architecture", ["paper", "library"])
def test_they_are_the_plain_decoders_after_each_relu(fast: bool, architecture: str) -> None:
    vae, pictures = a_vae(fast, architecture), images(70)  # more than a batch
    expected = by_hand(vae, pictures)
    assert {name: values.shape[1] for name, values in expected.items()} == DECODER_LAYERS
    for layers in (NAMES, NAMES[:2], ["deconv2", "dense1"], ["dense1"]):
        found = activations(vae, pictures, layers)
        whole = np.concatenate([expected[name] for name in layers], axis=1)
        assert found.dtype == np.float32 and found.shape == whole.shape
        np.testing.assert_allclose(found, whole, atol=1e-5 * (1 + abs(whole).max()))
    assert (expected["dense1"] == 0).any() and (expected["dense1"] > 0).any()


def test_nothing_is_drawn_and_the_model_stays_as_it_was() -> None:
    vae, pictures = a_vae(fast=True).train(), images(3)
    before = {name: value.clone() for name, value in vae.state_dict().items()}
    torch.manual_seed(5)
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    once = activations(vae, pictures, NAMES[:2])
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == numpy_state).all()
    assert vae.training and vae.decoder.layers.training
    assert all(torch.equal(value, before[name]) for name, value in vae.state_dict().items())
    assert np.array_equal(once, activations(vae, pictures, NAMES[:2]))
    code = encode(vae, torch.from_numpy(pictures), torch.Generator().manual_seed(0))
    vae.decoder(code.sample).sum().backward()  # it can still be differentiated


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_they_come_back_to_the_cpu() -> None:
    vae, pictures = a_vae(fast=True), images(3)
    on_cpu = activations(vae, pictures, NAMES)
    np.testing.assert_allclose(activations(vae.cuda(), pictures, NAMES), on_cpu, atol=1e-3)
