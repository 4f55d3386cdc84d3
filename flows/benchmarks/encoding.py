"""What encoding costs as scores do it, against a plain model on batches of 64.

In a turn each side encodes the same pictures: random ones, or some of dSprites. The latter are also
drawn again in every turn, and take a fifth of the turns. `size` is the number of turns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from data.base.protocol import Boxes, Finite
from flows.benchmarks import Row
from flows.benchmarks.plain import BATCH, LATENTS, pictures
from flows.benchmarks.turns import compared, serve
from models.architecture import VAE, initialise
from models.blank import encode_all
from models.representation import encode
from tasks.data_sets import load
from tasks.study.data_choice import DataChoice

TURNS, IMAGES = 40, 2048
MODULE = "flows.benchmarks.encoding"
# Every other outline at 8 by 8 neighbouring positions: about as many pictures share a window as in
# the whole data set, and their sprites are as large.
SPRITES = np.arange(737_280).reshape(720, 32, 32)[::2, 12:20, 12:20].ravel()


def measure(size: int | None = None) -> list[Row]:
    rows = []
    for channels in (1, 3):
        ours, plain = ["ours", str(channels)], ["plain", str(channels)]
        name = f"encode, {channels} channel{'s' * (channels > 1)}"
        note = f"{IMAGES} random pictures in memory"
        rows.append(compared(name, MODULE, ours, plain, size or TURNS, note))
    ours, plain = ["ours", "dsprites"], ["plain", "dsprites"]
    note, turns = f"{len(SPRITES)} pictures, drawn and encoded", (size or TURNS) // 5
    rows.append(compared("encode, dSprites", MODULE, ours, plain, turns, note))
    return rows


def _serve(side: str, what: str) -> None:
    channels = 1 if what == "dsprites" else int(what)
    vae = VAE(channels, LATENTS, fast=side == "ours").eval()
    initialise(vae, torch.Generator().manual_seed(0))
    if side == "ours":
        vae.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    work = (_sprites if what == "dsprites" else _random)(vae, side == "ours")

    def turn() -> list[float]:
        began = time.perf_counter()
        work()
        return [time.perf_counter() - began]

    serve(turn)


def _random(vae: VAE, ours: bool) -> Callable[[], object]:
    images = pictures(vae.channels, IMAGES).astype(np.float32)
    if ours:
        return lambda: encode(vae, images)
    return lambda: _plainly(vae, lambda places: images[places[0] : places[-1] + 1], IMAGES)


def _sprites(vae: VAE, ours: bool) -> Callable[[], object]:
    data_set = load(DataChoice(name="dsprites", source="redrawn"))
    assert isinstance(data_set, Finite)

    def show(places: NDArray[np.intp]) -> NDArray[np.float32]:
        return data_set.show(SPRITES[places])

    def boxes(places: NDArray[np.intp]) -> Boxes | None:
        return data_set.boxes(SPRITES[places])

    if ours:
        return lambda: encode_all(vae, show, len(SPRITES), boxes)
    return lambda: _plainly(vae, show, len(SPRITES))


@torch.inference_mode()
def _plainly(vae: VAE, show: Callable[[NDArray[np.intp]], NDArray[np.float32]], count: int) -> None:
    for i in range(0, count, BATCH):
        vae.encoder(torch.from_numpy(show(np.arange(i, min(i + BATCH, count)))))


if __name__ == "__main__":
    torch.set_num_threads(1)
    _serve(sys.argv[1], sys.argv[2])
