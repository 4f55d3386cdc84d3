"""What a trained model says of images: posteriors, unsupervised quantities, pictures."""

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
BATCH = 256  # encoding is quickest from 64 to 256 images at a time
INFORMATIVE = 0.01  # nats; Duan et al. 2020, equation 3
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
    total = 0.0
    for i in range(0, len(images), BATCH):
        batch = torch.from_numpy(images[i : i + BATCH]).to(device)
        logits = vae.decoder(sample[i : i + BATCH])
        total += float(bernoulli_loss(logits, batch)) * len(batch)
    kl = gaussian_kl(centre.double(), spread.double()).mean(0)
    return Unsupervised(total / len(images), kl.float().cpu().numpy())


@torch.inference_mode()
def traversal(vae: VAE, start: Floats, kl: Floats) -> tuple[list[int], bytes]:
    """A PNG whose rows move one latent from -2 to 2, by falling KL; uninformative ones greyed."""
    order = [int(i) for i in np.argsort(-kl, kind="stable")]
    codes = np.repeat(start[None], len(order) * len(TRAVERSAL), axis=0)
    for row, latent in enumerate(order):
        codes[row * len(TRAVERSAL) : (row + 1) * len(TRAVERSAL), latent] = TRAVERSAL
    device = next(vae.parameters()).device
    pictures = torch.sigmoid(vae.decoder(torch.from_numpy(codes).to(device))).cpu().numpy()
    pictures = pictures.reshape(len(order), len(TRAVERSAL), *pictures.shape[1:])
    for row, latent in enumerate(order):
        if kl[latent] <= INFORMATIVE:
            pictures[row] = 0.25 * pictures[row] + 0.55
    return order, grid_png(pictures)


@torch.inference_mode()
def reconstructions(vae: VAE, images: Floats, mean: Floats) -> bytes:
    """A PNG with images above their reconstructions from the posterior mean."""
    device = next(vae.parameters()).device
    decoded = torch.sigmoid(vae.decoder(torch.from_numpy(mean).to(device))).cpu().numpy()
    return grid_png(np.stack([images, decoded]))
