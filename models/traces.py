"""What the decoder's hidden layers give for images: a snapshot of a model in training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from models.architecture import VAE
from models.representation import BATCH


@torch.inference_mode()
def activations(
    vae: VAE, images: NDArray[np.float32], layers: Sequence[str]
) -> NDArray[np.float32]:
    """Of each image's mean code, (images, units): layer after layer, each flattened.

    Draws nothing and leaves the model as it was.
    """
    device, was_training = next(vae.parameters()).device, vae.training
    vae.eval()
    try:
        parts = []
        for i in range(0, len(images), BATCH):
            mean, _ = vae.encoder(torch.from_numpy(images[i : i + BATCH]).to(device))
            outputs = vae.decoder.hidden(mean, layers)
            parts.append(torch.cat([output.flatten(1) for output in outputs], dim=1).cpu())
    finally:
        vae.train(was_training)
    return torch.cat(parts).numpy()
