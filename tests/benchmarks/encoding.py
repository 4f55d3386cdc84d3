"""What encoding costs as scores do it, against a plain model on batches of 64.

`size` is the number of turns; in a turn each side encodes the same random pictures.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

from models.architecture import VAE, initialise
from models.representation import encode
from tests.benchmarks import Row
from tests.benchmarks.plain import BATCH, LATENTS, pictures
from tests.benchmarks.turns import compared, serve

TURNS, IMAGES = 40, 2048
MODULE = "tests.benchmarks.encoding"


def measure(size: int | None = None) -> list[Row]:
    rows = []
    for channels in (1, 3):
        ours, plain = ["ours", str(channels)], ["plain", str(channels)]
        name = f"encode, {channels} channel{'s' * (channels > 1)}"
        note = f"{IMAGES} random pictures in memory"
        rows.append(compared(name, MODULE, ours, plain, size or TURNS, note))
    return rows


def _serve(side: str, channels: int) -> None:
    images = pictures(channels, IMAGES).astype(np.float32)
    vae = VAE(channels, LATENTS, fast=side == "ours").eval()
    initialise(vae, torch.Generator().manual_seed(0))
    if side == "ours":
        vae.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @torch.inference_mode()
    def plainly() -> None:
        for i in range(0, IMAGES, BATCH):
            vae.encoder(torch.from_numpy(images[i : i + BATCH]))

    def turn() -> list[float]:
        began = time.perf_counter()
        if side == "ours":
            encode(vae, images)
        else:
            plainly()
        return [time.perf_counter() - began]

    serve(turn)


if __name__ == "__main__":
    torch.set_num_threads(1)
    _serve(sys.argv[1], int(sys.argv[2]))
