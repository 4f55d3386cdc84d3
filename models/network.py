"""What every trained model is: a network from pictures to codes, and from codes to pictures."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

Prior = Literal["normal", "uniform"]  # of each latent: N(0, 1), or U[-1, 1]


class Network(nn.Module):
    """Pictures are (n, channels, 64, 64) from 0 to 1, codes (n, latents).

    `prior` is what latents are drawn from, and `reach` how far a traversal goes from 0.
    """

    prior: Prior = "normal"
    reach = 2.0

    def __init__(self, channels: int, latents: int) -> None:
        super().__init__()
        self.channels, self.latents = channels, latents

    @property
    def device(self) -> torch.device:
        device: torch.device = next(iter(self.state_dict().values())).device
        return device

    def code(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """The code of each picture, and its log-variance if the method has a posterior."""
        raise NotImplementedError

    def pictures(self, codes: Tensor) -> Tensor:
        """The picture of each code."""
        raise NotImplementedError

    def losses(self, images: Tensor, codes: Tensor) -> Tensor | None:
        """Of each picture decoded from its code, in nats; none without a likelihood."""
        return None


def bernoulli_loss(logits: Tensor, images: Tensor) -> Tensor:
    """Negative log-likelihood in nats per image, averaged over the batch."""
    total = functional.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    return total / len(images)


def gaussian_loss(pictures: Tensor, images: Tensor) -> Tensor:
    """Squared error per image, averaged over the batch: negative log-likelihood in nats of a
    Gaussian with variance 1/2, without its constant."""
    return (pictures - images).square().sum() / len(images)
