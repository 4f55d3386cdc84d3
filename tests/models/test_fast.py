"""The layers that are lowered by hand against torch's own, which stay the definition."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from models import fast
from models.architecture import VAE, initialise
from models.factor_vae import FactorVAE
from models.network import bernoulli_loss
from models.objective import Code

# Rounding of float32 in sums of up to 10^5 terms; torch's own layers are as far from the truth.
NEAR = 1e-5  # of the largest value, and of 1, which is the size of what is summed


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(layers: nn.Module, seed: int = 0) -> nn.Module:
    initialise(layers, seeded(seed))
    for parameter in layers.parameters():  # biases that matter
        if parameter.dim() == 1:
            parameter.data.uniform_(-0.3, 0.3, generator=seeded(seed + parameter.numel()))
    return layers


def assert_near(found: torch.Tensor, expected: torch.Tensor, name: str = "") -> None:
    assert found.shape == expected.shape, name
    error = (found.double() - expected.double()).abs().max()
    assert error <= NEAR * (1 + expected.abs().max()), name


def gradients(computed, values, parameters, weights) -> list[torch.Tensor]:
    return list(torch.autograd.grad((computed * weights).sum(), [values, *parameters]))


LAYERS = {
    "first convolution": (nn.Conv2d(1, 32, 4, 2, 1), (1, 12, 12)),
    "first convolution in colour": (nn.Conv2d(3, 32, 4, 2, 1), (3, 12, 12)),
    "convolution": (nn.Conv2d(32, 64, 4, 2, 1), (32, 8, 8)),
    "convolution of 2x2": (nn.Conv2d(32, 64, 2, 2, 0), (32, 8, 8)),
    "transposed convolution": (nn.ConvTranspose2d(64, 32, 4, 2, 1), (64, 4, 4)),
    "last layer": (nn.ConvTranspose2d(32, 1, 4, 2, 1), (32, 6, 6)),
    "last layer in colour": (nn.ConvTranspose2d(32, 3, 4, 2, 1), (32, 6, 5)),
    "transposed of another shape": (nn.ConvTranspose2d(32, 3, 2, 2, 0), (32, 6, 5)),
    "linear": (nn.Linear(70, 33), (70,)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    ("after", "rows"), [(None, 7), (nn.ReLU(), 1), (nn.LeakyReLU(0.2), 7)], ids=str
)
def test_each_layer_is_torchs_in_double_precision(name, after, rows):
    layer, shape = LAYERS[name]
    layers = drawn(fast.Layers(copy.deepcopy(layer), *([after] if after else [])))
    values = torch.randn(rows, *shape, generator=seeded(1)).requires_grad_()
    exact, exact_values = (
        fast.with_fast(copy.deepcopy(layers).double(), False),
        values.detach().double().requires_grad_(),
    )
    found, expected = layers(values), exact(exact_values)
    assert_near(found, expected)
    weights = torch.randn(expected.shape, generator=seeded(2))
    of_found = gradients(found, values, layers.parameters(), weights)
    of_expected = gradients(expected, exact_values, exact.parameters(), weights.double())
    for one, other in zip(of_found, of_expected, strict=True):
        assert_near(one, other)


def networks(channels: int, architecture: str, last: bool = False) -> tuple[VAE, VAE]:
    quick = drawn(VAE(channels, 6, architecture))
    plain = VAE(channels, 6, architecture, fast=False)
    plain.load_state_dict(quick.state_dict())
    if last:
        quick.to(memory_format=torch.channels_last)
    return quick, plain


def images(rows: int, channels: int) -> torch.Tensor:
    return (torch.rand(rows, channels, 64, 64, generator=seeded(5)) > 0.8).float()


def loss(vae: VAE, pictures: torch.Tensor) -> torch.Tensor:
    mean, logvar = vae.encoder(pictures)
    return bernoulli_loss(vae.decoder(mean), pictures) + logvar.square().sum()


@pytest.mark.parametrize(
    ("channels", "architecture", "rows", "last"),
    [
        (1, "paper", 5, True),
        (3, "library", 5, True),
        (3, "paper", 1, False),
        (1, "library", 5, False),
    ],
)
def test_whole_networks_are_torchs(channels, architecture, rows, last):
    quick, plain = networks(channels, architecture, last)
    pictures = images(rows, channels)
    given = pictures.contiguous(memory_format=torch.channels_last) if last else pictures
    with torch.no_grad():
        for found, expected in zip(quick.encoder(given), plain.encoder(pictures), strict=True):
            assert_near(found, expected)
        codes = torch.randn(rows, 6, generator=seeded(3))
        assert_near(quick.decoder(codes), plain.decoder(codes))
    loss(quick, given).backward()
    plain.double()
    loss(plain, pictures.double()).backward()
    for (name, one), other in zip(quick.named_parameters(), plain.parameters(), strict=True):
        # A sum that is 0 but for rounding passes a ReLU on one side and not on the other.
        error = (one.grad - other.grad).norm() / other.grad.norm()
        assert error < 1e-4, name


def test_weights_are_interchangeable():
    quick, plain = networks(3, "library")
    assert {name: value.shape for name, value in quick.state_dict().items()} == {
        name: value.shape for name, value in plain.state_dict().items()
    }
    quick.load_state_dict(plain.state_dict(), strict=True)


def test_same_bits_every_time():
    quick, _ = networks(1, "paper")

    def once() -> list[torch.Tensor]:
        return list(torch.autograd.grad(loss(quick, images(8, 1)), list(quick.parameters())))

    assert all(torch.equal(a, b) for a, b in zip(once(), once(), strict=True))


def test_gradients_can_be_asked_for_again_and_are_left_alone():
    layers = drawn(fast.Layers(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU()))
    values = torch.randn(4, 5, generator=seeded(0)).requires_grad_()
    result, weights = layers(values), torch.ones(4, 8)
    first = torch.autograd.grad(result, [values], weights, retain_graph=True)[0]
    assert torch.equal(first, torch.autograd.grad(result, [values], weights)[0])
    assert torch.equal(weights, torch.ones(4, 8))


@pytest.mark.parametrize("switched_off", ["by the argument", "by the type of number"])
def test_off_means_torchs_own_layers(monkeypatch, switched_off):
    def refuse(*_):
        raise AssertionError("lowered")

    quick, plain = networks(1, "paper")
    monkeypatch.setattr(fast, "stages_of", refuse)
    with pytest.raises(AssertionError, match="lowered"):
        quick.encoder(images(1, 1))
    if switched_off == "by the argument":
        plain.decoder(plain.encoder(images(1, 1))[0])
    else:
        quick.double().decoder(quick.encoder(images(1, 1).double())[0])


def test_a_layer_that_has_no_fast_form_is_refused():
    with pytest.raises(TypeError, match="Tanh"):
        fast.Layers(nn.Linear(2, 2), nn.Tanh())(torch.zeros(1, 2))


# FactorVAE's discriminator ------------------------------------------------------------------------


def penalties(quick: bool, number: torch.dtype):
    objective = drawn(FactorVAE(3.0, 4))
    fast.with_fast(objective, quick)
    objective.to(number)
    z = torch.randn(9, 4, generator=seeded(7)).to(number).requires_grad_()
    penalty = objective.penalty(Code(z, z, z, torch.zeros(4, dtype=number)), 0, seeded(8))
    return objective, z, penalty


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_both_of_the_discriminators_losses_have_their_own_gradients(order):
    quick, quick_z, found = penalties(True, torch.float32)
    plain, plain_z, expected = penalties(False, torch.float64)
    assert_near(found.regulariser, expected.regulariser)
    assert_near(found.adversary, expected.adversary)
    for which in order:
        if which == 0:
            one = torch.autograd.grad(found.regulariser, quick_z, retain_graph=True)
            other = torch.autograd.grad(expected.regulariser, plain_z, retain_graph=True)
        else:
            of_quick, of_plain = list(quick.parameters()), list(plain.parameters())
            one = torch.autograd.grad(found.adversary, of_quick, retain_graph=True)
            other = torch.autograd.grad(expected.adversary, of_plain, retain_graph=True)
        for a, b in zip(one, other, strict=True):
            assert (a - b).norm() < 1e-4 * b.norm() + 1e-12


def test_the_adversarys_loss_is_the_cross_entropy_of_two_classes():
    objective, z, penalty = penalties(False, torch.float64)
    objective.strength = 0.0
    with torch.no_grad():
        order = torch.rand(z.shape, generator=seeded(8)).argsort(dim=0)
        joint, apart = (objective.discriminator(rows) for rows in (z, z.gather(0, order)))
        zeros = torch.zeros(9, dtype=torch.long)
        expected = functional.cross_entropy(joint, zeros) + functional.cross_entropy(
            apart, zeros + 1
        )
    assert penalty.adversary.item() == pytest.approx(float(expected) / 2, rel=1e-12)
