"""What a trained model computes from images: codes, quantities without labels, and pictures.

The pictures, PNGs of traversals, reconstructions and samples, are drawn here because they need the
decoder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from infra.pictures import grid_png
from models.network import Network
from models.objective import gaussian_kl

Floats = NDArray[np.float32]
BATCH = 64  # at 256, the first layer no longer fits the cache
LEVELS = 16  # of brightness in stored pictures: a quarter of the bytes of 256
TRAVERSED = 9  # pictures of each latent


class Pictures(Protocol):
    """An array of pictures, or what draws those that are read."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice, /) -> Floats: ...


@torch.inference_mode()
def encode(network: Network, images: Pictures) -> tuple[Floats, Floats | None]:
    """The code of each image: its posterior's mean, and that one's log-variance if it has any."""
    device = network.device
    parts = [
        network.code(torch.from_numpy(images[i : i + BATCH]).to(device))
        for i in range(0, len(images), BATCH)
    ]
    logvars = [logvar for _, logvar in parts if logvar is not None]
    return (
        torch.cat([mean for mean, _ in parts]).cpu().numpy(),
        torch.cat(logvars).cpu().numpy() if logvars else None,
    )


@dataclass(frozen=True)
class Unsupervised:
    """Quantities that need no labels, in nats per image."""

    reconstruction: float
    kl_per_latent: Floats

    @property
    def kl(self) -> float:
        return float(self.kl_per_latent.sum())

    @property
    def elbo(self) -> float:
        return -self.reconstruction - self.kl


@torch.inference_mode()
def unsupervised(
    network: Network, images: Pictures, mean: Floats, logvar: Floats, generator: torch.Generator
) -> Unsupervised:
    """Reconstruction from one sample of each posterior, and the KL of each latent."""
    device = network.device
    centre, spread = torch.from_numpy(mean).to(device), torch.from_numpy(logvar).to(device)
    noise = torch.randn(centre.shape, generator=generator).to(device)
    sample = centre + noise * (0.5 * spread).exp()
    losses = reconstruction_losses(network, images, sample.cpu().numpy())
    assert losses is not None, "a method with a posterior has a likelihood"
    kl = gaussian_kl(centre.double(), spread.double()).mean(0)
    return Unsupervised(float(losses.mean()), kl.float().cpu().numpy())


@torch.inference_mode()
def reconstruction_losses(
    network: Network, images: Pictures, codes: Floats
) -> NDArray[np.float64] | None:
    """The loss in nats of each image, decoded from its code; none without a likelihood."""
    device, losses = network.device, []
    for i in range(0, len(images), BATCH):
        batch = torch.from_numpy(images[i : i + BATCH]).to(device)
        of_batch = network.losses(batch, torch.from_numpy(codes[i : i + BATCH]).to(device))
        if of_batch is None:
            return None
        losses.append(of_batch)
    return torch.cat(losses).double().cpu().numpy()


def traversal(
    network: Network, start: Floats, kl: Floats | None, informative_kl: float
) -> tuple[list[int], bytes]:
    """A PNG in which each row moves one latent over the network's reach; returns also the latents'
    order."""
    values = np.linspace(-network.reach, network.reach, TRAVERSED, dtype=np.float32)
    order, pictures = traversed(network, start, kl, values, informative_kl)
    return order, grid_png(pictures, levels=LEVELS)


@torch.inference_mode()
def traversed(
    network: Network, start: Floats, kl: Floats | None, values: Floats, informative_kl: float
) -> tuple[list[int], NDArray[np.float32]]:
    """The latents by decreasing KL, and pictures (latents, values, channels, 64, 64) of each.

    The pictures of latents whose KL is at most `informative_kl` are pale. Without KL the latents
    stay in their order.
    """
    ranked = np.arange(len(start)) if kl is None else np.argsort(-kl, kind="stable")
    order = [int(latent) for latent in ranked]
    codes = np.tile(start, (len(order), len(values), 1))
    for row, latent in enumerate(order):
        codes[row, :, latent] = values
    pictures = _decoded(network, codes)
    for row, latent in enumerate(order):
        if kl is not None and kl[latent] <= informative_kl:
            pictures[row] = 0.25 * pictures[row] + 0.55
    return order, pictures


@torch.inference_mode()
def reconstructions(network: Network, images: Floats, mean: Floats) -> bytes:
    """A PNG of images and, below, their reconstructions from the posterior mean."""
    return grid_png(np.stack([images, _decoded(network, mean)]), levels=LEVELS)


@torch.inference_mode()
def decoded_samples(network: Network, samples: Floats) -> bytes:
    """A PNG of what the decoder makes of samples (rows, columns, latents) of the prior."""
    return grid_png(_decoded(network, samples), levels=LEVELS)


def _decoded(network: Network, codes: Floats) -> Floats:
    """Pictures (..., channels, 64, 64) of codes (..., latents)."""
    flat = torch.from_numpy(codes.reshape(-1, codes.shape[-1])).to(network.device)
    pictures = network.pictures(flat).cpu().numpy()
    return pictures.reshape(*codes.shape[:-1], *pictures.shape[1:])
