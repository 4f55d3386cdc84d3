"""Time a few training steps and encoded images on one core: `python -m tasks.calibrate NETWORK...`.

A network is "method channels architecture latents". Prints JSON; random pixels take as long as
real ones.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import torch

import models
from models.architecture import VAE
from models.recipe import Recipe
from models.representation import encode
from models.training import TrainingModule

BATCH, STEPS, WARM_UP = 64, 8, 3


def measure(network: str) -> dict[str, float]:
    """Seconds per optimiser step and per encoded image."""
    method, channels, architecture, latents = network.split()
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(BATCH, int(channels), 64, 64, generator=generator)
    images = images.contiguous(memory_format=torch.channels_last)
    training = TrainingModule(
        VAE(int(channels), int(latents), architecture),
        models.build_objective(method, 1.0, int(latents)),
        Recipe(steps=STEPS),
        batch=lambda step: images,
        noise=lambda step: generator,
    )
    training.initialise(generator)
    steps = []
    for step in range(WARM_UP + STEPS):
        began = time.perf_counter()
        training.optimise(step)
        steps.append(time.perf_counter() - began)
    many = images.repeat(16, 1, 1, 1).numpy()
    encode(training.vae, many)
    began = time.perf_counter()
    encode(training.vae, many)
    image = (time.perf_counter() - began) / len(many)
    return {"step": statistics.median(steps[WARM_UP:]), "image": image, "when": time.time()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({network: measure(network) for network in sys.argv[1:]}))
