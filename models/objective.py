"""What every objective has: a strength, and a penalty added to the reconstruction loss."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.adam import Optimiser


@dataclass(frozen=True)
class Code:
    """The encoder's output for a batch."""

    mean: Tensor  # (batch, latents)
    logvar: Tensor  # (batch, latents)
    sample: Tensor  # (batch, latents)
    kl: Tensor  # (latents,): to the prior, averaged over the batch


@dataclass(frozen=True)
class Penalty:
    """`regulariser` is added to the reconstruction loss, so it holds the KL too; a second optimiser
    minimises `adversary`."""

    regulariser: Tensor
    adversary: Tensor | None = None


class Objective(nn.Module):
    """Base of all objectives. A subclass has its own file and a line in `models.METHODS`."""

    def __init__(self, strength: float, latents: int) -> None:
        super().__init__()
        self.strength, self.latents = strength, latents

    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        """Of one batch; `step` counts from 0, and what is drawn is drawn with `generator`."""
        raise TypeError(f"{type(self).__name__} must define penalty(), which is added to the loss")

    def adversary_optimiser(self) -> Optimiser | None:
        """The optimiser of the objective's network, if it has one."""
        return None


def gaussian_kl(mean: Tensor, logvar: Tensor) -> Tensor:
    """KL from N(mean, exp(logvar)) to N(0, 1), elementwise, in nats."""
    return 0.5 * (mean.square() + logvar.exp() - logvar - 1)
