"""A model's traversal as an animated picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infra.pictures import grid_gif
from infra.store import Store
from metrics import INFORMATIVE_KL
from models.representation import traversed
from tasks.study.weight_files import stored_model
from tasks.weights import load_model

FRAMES = 16  # from one end to the other; the way back repeats them
ACROSS = 5  # latents in a row


def animated_traversal(store: Store, model_id: str, kl: Sequence[float]) -> bytes:
    """A GIF in which every latent moves over the network's reach and back, five in a row: by
    decreasing KL, without any in their own order."""
    network = load_model(stored_model(model_id, store), store)
    start = np.array(store.read("representations", ["mean"], [model_id])["mean"][0].as_py())
    values = np.linspace(-network.reach, network.reach, FRAMES, dtype=np.float32)
    kl_array = np.array(kl, np.float32) if kl else None
    _, pictures = traversed(network, start.astype(np.float32), kl_array, values, INFORMATIVE_KL)
    frames = pictures.swapaxes(0, 1)  # (frames, latents, channels, 64, 64)
    frames = np.concatenate([frames, frames[-2:0:-1]])
    blank = np.ones((len(frames), -frames.shape[1] % ACROSS, *frames.shape[2:]), np.float32)
    frames = np.concatenate([frames, blank], axis=1)
    return grid_gif(frames.reshape(len(frames), -1, ACROSS, *frames.shape[2:]))
