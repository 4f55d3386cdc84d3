"""What a trained model computes from images: posteriors, quantities without labels, and pictures.

The pictures, PNGs of traversals, reconstructions and samples, are drawn here because they need the
decoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from infra.pictures import grid_png
from models.architecture import VAE
from models.objective import gaussian_kl
from models.training import bernoulli_loss

Floats = NDArray[np.float32]
BATCH = 64  # at 256, the first layer no longer fits the cache
LEVELS = 16  # of brightness in stored pictures: a quarter of the bytes of 256
TRAVERSAL = np.linspace(-2.0, 2.0, 9, dtype=np.float32)


@torch.inference_mode()
def encode(vae: VAE, images: Floats) -> tuple[Floats, Floats]:
    """Posterior mean and log-variance of each image."""
    device = next(vae.parameters()).device
    parts = [
        vae.encoder(torch.from_numpy(images[i : i + BATCH]).to(device))
        for i in range(0, len(images), BATCH)
    ]
    return (
        torch.cat([mean for mean, _ in parts]).cpu().numpy(),
        torch.cat([logvar for _, logvar in parts]).cpu().numpy(),
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
    vae: VAE, images: Floats, mean: Floats, logvar: Floats, generator: torch.Generator
) -> Unsupervised:
    """Reconstruction from one sample of each posterior, and the KL of each latent."""
    device = next(vae.parameters()).device
    centre, spread = torch.from_numpy(mean).to(device), torch.from_numpy(logvar).to(device)
    noise = torch.randn(centre.shape, generator=generator).to(device)
    sample = centre + noise * (0.5 * spread).exp()
    losses = reconstruction_losses(vae, images, sample.cpu().numpy())
    kl = gaussian_kl(centre.double(), spread.double()).mean(0)
    return Unsupervised(float(losses.mean()), kl.float().cpu().numpy())


@torch.inference_mode()
def reconstruction_losses(vae: VAE, images: Floats, codes: Floats) -> NDArray[np.float64]:
    """The loss in nats of each image, decoded from its code."""
    device = next(vae.parameters()).device
    losses = []
    for i in range(0, len(images), BATCH):
        batch = torch.from_numpy(images[i : i + BATCH]).to(device)
        logits = vae.decoder(torch.from_numpy(codes[i : i + BATCH]).to(device))
        # each image as a batch of its own
        losses.append(torch.vmap(bernoulli_loss)(logits[:, None], batch[:, None]))
    return torch.cat(losses).double().cpu().numpy()


def traversal(
    vae: VAE, start: Floats, kl: Floats, informative_kl: float
) -> tuple[list[int], bytes]:
    """A PNG in which each row moves one latent from -2 to 2; returns also the latents' order."""
    order, pictures = traversed(vae, start, kl, TRAVERSAL, informative_kl)
    return order, grid_png(pictures, levels=LEVELS)


@torch.inference_mode()
def traversed(
    vae: VAE, start: Floats, kl: Floats, values: Floats, informative_kl: float
) -> tuple[list[int], NDArray[np.float32]]:
    """The latents by decreasing KL, and pictures (latents, values, channels, 64, 64) of each.

    The pictures of latents whose KL is at most `informative_kl` are pale.
    """
    order = [int(i) for i in np.argsort(-kl, kind="stable")]
    codes = np.tile(start, (len(order), len(values), 1))
    for row, latent in enumerate(order):
        codes[row, :, latent] = values
    device = next(vae.parameters()).device
    logits = vae.decoder(torch.from_numpy(codes.reshape(-1, len(start))).to(device))
    pictures = torch.sigmoid(logits).cpu().numpy()
    pictures = pictures.reshape(len(order), len(values), *pictures.shape[1:])
    for row, latent in enumerate(order):
        if kl[latent] <= informative_kl:
            pictures[row] = 0.25 * pictures[row] + 0.55
    return order, pictures


@torch.inference_mode()
def reconstructions(vae: VAE, images: Floats, mean: Floats) -> bytes:
    """A PNG of images and, below, their reconstructions from the posterior mean."""
    device = next(vae.parameters()).device
    decoded = torch.sigmoid(vae.decoder(torch.from_numpy(mean).to(device))).cpu().numpy()
    return grid_png(np.stack([images, decoded]), levels=LEVELS)


@torch.inference_mode()
def decoded_samples(vae: VAE, samples: Floats) -> bytes:
    """A PNG of what the decoder makes of samples (rows, columns, latents) of the prior."""
    device = next(vae.parameters()).device
    codes = torch.from_numpy(samples.reshape(-1, samples.shape[-1])).to(device)
    decoded = torch.sigmoid(vae.decoder(codes)).cpu().numpy()
    return grid_png(decoded.reshape(*samples.shape[:-1], *decoded.shape[1:]), levels=LEVELS)
