"""InfoGAN (Chen et al. 2016) as Eastwood & Williams 2018 train it, section 4.2 and appendix A.

A generator makes pictures of codes, and nothing else: there are no noise variables. A critic tells
its pictures from those of the data set; a recogniser, which shares the critic's convolutions,
predicts each picture's code with a Gaussian of variance 1. Its mean is a picture's representation.

Minimised, with c ~ U[-1, 1] for each latent, x' = G(c), and x'' on a line between x and x':
- critic and recogniser: E[D(x')] − E[D(x)] + 10 E[(‖∇D(x'')‖ − 1)²] + λ E[½ ‖c − Q(x')‖²]
- generator: −E[D(x')] + λ E[½ ‖c − Q(x')‖²]

The first is the loss of the improved Wasserstein GAN (Gulrajani et al. 2017, equation 3); the last
term bounds the mutual information of codes and pictures (Chen et al. 2016, equation 4), up to
constants.

Conventions:
- A step is 5 steps of the critic, each with a batch and codes of its own, and one of the generator.
- The recogniser learns with the critic. Both losses have its term, as in the released code of Chen
  et al. 2016; the later paper says only that it is appended.
- λ is the strength.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from models.adam import Optimiser
from models.architecture import initialise
from models.network import Network
from models.recipe import Recipe
from models.resnet import (
    WIDTHS,
    ResNetDecoder,
    encoder_layers,
    features,
    layer_norm,
    scaled,
    unscaled,
)
from models.training import Feed, Losses, Training, adam, channels_last

CRITIC_STEPS, GRADIENT_PENALTY = 5, 10.0  # the released code; Gulrajani et al. 2017, algorithm 1


class InfoGAN(Network):
    prior = "uniform"
    reach = 1.0

    def __init__(
        self, channels: int, latents: int, architecture: str = "resnet", fast: bool = True
    ) -> None:
        super().__init__(channels, latents)
        width = WIDTHS[architecture]
        self.generator = ResNetDecoder(channels, latents, architecture)
        self.features = encoder_layers(channels, width, layer_norm)
        self.critic = nn.Linear(features(width), 1)
        self.recogniser = nn.Linear(features(width), latents)

    def code(self, images: Tensor) -> tuple[Tensor, None]:
        return self.recogniser(self.features(scaled(images))), None

    def pictures(self, codes: Tensor) -> Tensor:
        return unscaled(self.generator(codes))

    def criticise(self, pictures: Tensor) -> Tensor:
        """How much pictures from -1 to 1 look like the data set's."""
        criticised: Tensor = self.critic(self.features(pictures))[:, 0]
        return criticised


class InfoGANTraining(Training):
    """Two optimisers: of the generator, and of everything else."""

    def __init__(
        self,
        network: InfoGAN,
        strength: float,
        recipe: Recipe,
        feed: Feed,
        after_chunk: Callable[[Any], None] = lambda training: None,
        log_every: int = 1000,
    ) -> None:
        super().__init__(recipe, feed, after_chunk, log_every)
        self.strength = strength
        self.network: InfoGAN = channels_last(network)
        generator = list(network.generator.parameters())
        others = [part for part in network.parameters() if all(part is not p for p in generator)]
        self.generator_optimiser = adam(generator, recipe)
        self.critic_optimiser = adam(others, recipe)

    def initialise(self, generator: torch.Generator) -> None:
        initialise(self.network, generator)

    def parts(self) -> dict[str, nn.Module | Optimiser | None]:
        names = ("network", "generator_optimiser", "critic_optimiser")
        return {name: getattr(self, name) for name in names}

    def optimise(self, step: int) -> Losses:
        noise = self.noise(step)
        for turn in range(CRITIC_STEPS):
            batch = self.batch(CRITIC_STEPS * step + turn).to(self.device)
            loss, regulariser = critic_loss(self.network, scaled(batch), self.strength, noise)
            self.critic_optimiser.zero_grad()
            loss.backward(inputs=self.critic_optimiser.parameters)
            self.critic_optimiser.step()
        of_generator = generator_loss(self.network, len(batch), self.strength, noise)
        self.generator_optimiser.zero_grad()
        of_generator.backward(inputs=self.generator_optimiser.parameters)
        self.generator_optimiser.step()
        return Losses(loss.detach(), regulariser=regulariser.detach())


def critic_loss(
    network: InfoGAN, real: Tensor, strength: float, noise: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The loss of critic and recogniser on a batch, and what the recogniser's part of it is."""
    codes = uniform_codes(network, len(real), noise)
    with torch.no_grad():
        made = network.generator(codes)
    of_both = network.features(torch.cat([real, made]))
    of_real, of_made = network.critic(of_both)[:, 0].split(len(real))
    place = torch.rand(len(real), generator=noise).to(real.device)
    penalty = gradient_penalty(network, real, made, place)
    regulariser = strength * code_loss(codes, network.recogniser(of_both[len(real) :]))
    loss = of_made.mean() - of_real.mean() + GRADIENT_PENALTY * penalty + regulariser
    return loss, regulariser


def generator_loss(network: InfoGAN, count: int, strength: float, noise: torch.Generator) -> Tensor:
    codes = uniform_codes(network, count, noise)
    of_made = network.features(network.generator(codes))
    criticised: Tensor = network.critic(of_made)[:, 0]
    return -criticised.mean() + strength * code_loss(codes, network.recogniser(of_made))


def uniform_codes(network: InfoGAN, count: int, noise: torch.Generator) -> Tensor:
    """Codes from U[-1, 1] (appendix D; the released code)."""
    return (2 * torch.rand(count, network.latents, generator=noise) - 1).to(network.device)


def code_loss(codes: Tensor, predicted: Tensor) -> Tensor:
    """Negative log-likelihood of codes, by a Gaussian of variance 1 and without its constant."""
    return 0.5 * (codes - predicted).square().sum(1).mean()


def gradient_penalty(network: InfoGAN, real: Tensor, made: Tensor, place: Tensor) -> Tensor:
    """Of pictures between the real and the made ones: `place` is where, from 0 (real) to 1."""
    between = torch.lerp(real, made, place[:, None, None, None]).requires_grad_()
    criticised = network.criticise(between).sum()
    (gradient,) = torch.autograd.grad(criticised, between, create_graph=True)
    steepness: Tensor = gradient.flatten(1).norm(dim=1)
    return (steepness - 1).square().mean()


NETWORK, TRAINING = InfoGAN, InfoGANTraining
