"""The baseline of training and encoding: the eager loop that PyTorch libraries use.

- contiguous float32, torch's own layers, Adam with its defaults;
- a DataLoader over an array of bytes that converts item by item;
- gradients of everything that a loss reaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, RandomSampler

from models import build_objective
from models.architecture import VAE, initialise
from models.fast import with_fast
from models.network import bernoulli_loss
from models.training import encode

BATCH, LATENTS, COUNT, STRENGTH = 64, 10, 4096, 4.0
ADAM: dict[str, Any] = {"lr": 1e-4, "betas": (0.9, 0.999), "eps": 1e-8}


def pictures(channels: int, count: int = COUNT) -> NDArray[np.uint8]:
    """Random bytes that are 0 or 1: no time depends on what they show."""
    draws = np.random.default_rng(0)
    return (draws.random((count, channels, 64, 64)) > 0.9).astype(np.uint8)


class Items(Dataset[torch.Tensor]):
    def __init__(self, array: NDArray[np.uint8]) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, i: int) -> torch.Tensor:
        return torch.from_numpy(self.array[i]).float()


def plain_training(method: str, channels: int, architecture: str = "paper") -> Iterator[None]:
    """Each `next` is one optimiser step."""
    vae = VAE(channels, LATENTS, architecture, fast=False)
    objective = build_objective(method, STRENGTH, LATENTS)
    with_fast(objective, False)
    generator = torch.Generator().manual_seed(0)
    initialise(vae, generator)
    initialise(objective, generator)
    optimiser = torch.optim.Adam(vae.parameters(), **ADAM)
    adversaries = list(objective.parameters())
    if adversaries:
        adversary_optimiser = torch.optim.Adam(adversaries, lr=1e-4, betas=(0.5, 0.9))
    items = Items(pictures(channels))
    order = RandomSampler(items, replacement=True, num_samples=10**9)
    for step, images in enumerate(DataLoader(items, batch_size=BATCH, sampler=order)):
        code = encode(vae, images, generator)
        reconstruction = bernoulli_loss(vae.decoder(code.sample), images)
        penalty = objective.penalty(code, step, generator)
        loss = reconstruction + penalty.regulariser
        optimiser.zero_grad()
        loss.backward(retain_graph=penalty.adversary is not None)
        if penalty.adversary is not None:
            adversary_optimiser.zero_grad()
            penalty.adversary.backward(inputs=adversaries)
            adversary_optimiser.step()
        optimiser.step()
        float(loss.detach())
        yield
