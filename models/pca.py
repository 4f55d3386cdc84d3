"""Principal components of pixels: Eastwood & Williams 2018, section 4.2.

Each pixel of the training pictures is scaled to mean 0 and variance 1; a latent is a direction in
which these vary most. There are no optimiser steps: the components are computed at once.

Conventions:
- A code is divided by its deviation over the training pictures, so that latents have variance 1.
- A pixel that never changes counts as 0 and is always shown as it is.
- The largest weight of each component is positive.
- Components come from subspace iteration, with some directions more than are asked for, over all
  training pictures at each turn; it ends when no component turns by more than a thousandth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from models.adam import Optimiser
from models.architecture import SIDE
from models.network import Network
from models.recipe import Recipe
from models.training import Feed, Training

FURTHER = 10  # directions more than components
MOST_TURNS, TURN = 100, 1e-3  # of a component between two iterations, as a sine
TINY = 1e-6  # of a pixel's deviation, where pixels are from 0 to 1


class PCA(Network):
    means: Tensor
    deviations: Tensor
    components: Tensor
    scales: Tensor

    def __init__(
        self, channels: int, latents: int, architecture: str = "", fast: bool = True
    ) -> None:
        super().__init__(channels, latents)
        pixels = channels * SIDE * SIDE
        self.register_buffer("means", torch.zeros(pixels))
        self.register_buffer("deviations", torch.zeros(pixels))
        self.register_buffer("components", torch.zeros(latents, pixels))
        self.register_buffer("scales", torch.zeros(latents))  # of the codes

    def code(self, images: Tensor) -> tuple[Tensor, None]:
        codes = self.standardised(images) @ self.components.T
        return codes * _inverse(self.scales), None

    def pictures(self, codes: Tensor) -> Tensor:
        flat = (codes * self.scales) @ self.components * self.deviations + self.means
        return flat.clamp(0, 1).reshape(-1, self.channels, SIDE, SIDE)

    def standardised(self, images: Tensor) -> Tensor:
        """Pixels (n, pixels) with mean 0 and variance 1 over the training pictures."""
        return (images.flatten(1) - self.means) * _inverse(self.deviations)


class PCATraining(Training):
    def __init__(
        self,
        network: PCA,
        strength: float,
        recipe: Recipe,
        feed: Feed,
        after_chunk: Callable[[Any], None] = lambda training: None,
        log_every: int = 1000,
    ) -> None:
        super().__init__(recipe, feed, after_chunk, log_every)
        self.network: PCA = network
        self.blocks, self.steps = feed.pictures, 0

    def initialise(self, generator: torch.Generator) -> None:
        self.start = torch.randn(
            self.network.means.numel(), self.network.latents + FURTHER, generator=generator
        )

    def parts(self) -> dict[str, nn.Module | Optimiser | None]:
        return {"network": self.network}

    def run(self, on_gpu: bool = False) -> None:
        device = torch.device("cuda" if on_gpu else "cpu")
        self.network.to(device)
        self._scale_pixels()
        self._find_components(self.start.to(device))
        self.network.to("cpu")

    def _blocks(self) -> Iterator[Tensor]:
        return (block.to(self.network.device) for block in self.blocks())

    def _scale_pixels(self) -> None:
        count, total, squares = 0, torch.zeros(()), torch.zeros(())
        for block in self._blocks():
            values = block.flatten(1).double()
            count += len(values)
            total = total + values.sum(0)
            squares = squares + values.square().sum(0)
        mean = total / count
        deviation = (squares / count - mean.square()).clamp(min=0).sqrt()
        self.network.means.copy_(mean)
        self.network.deviations.copy_(torch.where(deviation > TINY, deviation, 0.0))

    def _find_components(self, start: Tensor) -> None:
        latents = self.network.latents
        basis, _ = torch.linalg.qr(start)
        before = basis[:, :latents]
        for _ in range(MOST_TURNS):
            product, count = torch.zeros_like(basis), 0
            for block in self._blocks():
                pixels = self.network.standardised(block)
                product += pixels.T @ (pixels @ basis)
                count += len(pixels)
            # Of the covariance within the basis the eigenvectors are the best components so far.
            values, vectors = torch.linalg.eigh(basis.T @ product / count)
            order = values.argsort(descending=True)[:latents]
            components, variances = basis @ vectors[:, order], values[order].clamp(min=0)
            turned = (components - before @ (before.T @ components)).norm(dim=0)
            if float(turned.max()) < TURN:
                break
            before = components
            basis, _ = torch.linalg.qr(product)
        largest = components.gather(0, components.abs().argmax(0, keepdim=True))
        self.network.components.copy_((components * largest.sign()).T)
        self.network.scales.copy_(variances.sqrt())


def _inverse(scales: Tensor) -> Tensor:
    """1 divided by them, and 0 for 0."""
    return torch.where(scales > 0, 1 / scales, 0.0)


NETWORK, TRAINING = PCA, PCATraining
