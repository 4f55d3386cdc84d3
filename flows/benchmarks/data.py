"""Batches of 64 images as training reads them: float32, channels first, rows drawn at random.

- Baseline of cached data sets: a plain DataLoader over the same arrays that converts item by item.
- Baseline of the noise variants: numpy on the same sprites, written as the definitions are.
- Both sides run in one process with a worker's environment (one thread, memory that is not given
  back), batch by batch in turn, and both give the same kind of array.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import data
from data.base.cache import folder
from flows.benchmarks import Row
from flows.benchmarks.turns import in_a_worker, print_rows

BATCH, ROUNDS = 64, 200
COMPOSED = 20_000
Batch = Callable[[], Any]


def measure(size: int | None = None) -> list[Row]:
    """`size` is the number of batches that are timed on each side."""
    return in_a_worker("flows.benchmarks.data", size or ROUNDS)


def _cached(name: str) -> tuple[Batch, Batch, str]:
    """Our next batch, and the next of a DataLoader that also draws rows with replacement."""
    import torch
    from torch.utils.data import DataLoader, Dataset, RandomSampler

    source = next(s for s in data.sources(name) if data.is_available(name, s, folder()))
    data_set = data.load(name, source, folder())
    draws = np.random.default_rng(0)
    packed: Any = getattr(data_set, "packed", None)
    array: Any = packed if packed is not None else getattr(data_set, "pixels", None)
    if array is None:  # composed on demand: the baseline gets some of the pictures as an array
        images = data_set.images(data_set.sample(COMPOSED, draws), draws)
        array = np.rint(images * 255).astype(np.uint8)
    array.max()  # maps every page, as some thousand steps of training do

    class Items(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return len(array)

        def __getitem__(self, i: int) -> torch.Tensor:
            if packed is None:
                return torch.from_numpy(array[i].copy()).float() / 255
            return torch.from_numpy(np.unpackbits(array[i]).reshape(1, 64, 64)).float()

    def batches() -> Iterator[torch.Tensor]:
        rows = RandomSampler(Items(), replacement=True, num_samples=10**9)
        yield from DataLoader(Items(), batch_size=BATCH, sampler=rows)

    baseline = batches()
    return (
        lambda: data_set.images(data_set.sample(BATCH, draws), draws),
        lambda: next(baseline),
        f"{source}; baseline: plain DataLoader, same array",
    )


def _noise(name: str) -> tuple[Batch, Batch, str]:
    source = next(s for s in data.sources(name) if data.is_available(name, s, folder()))
    data_set: Any = data.load(name, source, folder())
    draws = np.random.default_rng(0)
    picture = getattr(data_set, "picture", np.zeros((3, 274, 215))).transpose(1, 2, 0)
    add = NOISE[name]

    def baseline() -> Any:
        sprites = data_set.sprites.images(data_set.sample(BATCH, draws), draws)
        images = add(sprites.transpose(0, 2, 3, 1), picture, draws)
        return np.ascontiguousarray(images.transpose(0, 3, 1, 2), dtype=np.float32)

    return (
        lambda: data_set.images(data_set.sample(BATCH, draws), draws),
        baseline,
        f"{source}; baseline: numpy on the same sprites",
    )


def _color(sprites: Any, picture: Any, draws: np.random.Generator) -> Any:
    return np.repeat(sprites, 3, axis=3) * draws.uniform(0.5, 1, (len(sprites), 1, 1, 3))


def _noisy(sprites: Any, picture: Any, draws: np.random.Generator) -> Any:
    noise = draws.uniform(0, 1, (len(sprites), 64, 64, 3))
    return np.minimum(np.repeat(sprites, 3, axis=3) + noise, 1)


def _scream(sprites: Any, picture: Any, draws: np.random.Generator) -> Any:
    images = np.empty((len(sprites), 64, 64, 3))
    for sprite, image in zip(np.repeat(sprites, 3, axis=3), images, strict=True):
        row = draws.integers(picture.shape[0] - 64)
        column = draws.integers(picture.shape[1] - 64)
        image[:] = (picture[row : row + 64, column : column + 64] + draws.uniform(0, 1, 3)) / 2
        inside = sprite == 1
        image[inside] = 1 - image[inside]
    return images


NOISE = {"color_dsprites": _color, "noisy_dsprites": _noisy, "scream_dsprites": _scream}


def _compared(name: str, rounds: int) -> Row:
    ours, baseline, note = (_noise if name in NOISE else _cached)(name)
    seconds: tuple[list[float], list[float]] = ([], [])
    for batch in (ours, baseline):
        for _ in range(10):  # compiles, and reads what a batch needs
            batch()
    for _ in range(rounds):
        for batch, times in zip((ours, baseline), seconds, strict=True):
            began = time.perf_counter()
            batch()
            times.append(1e3 * (time.perf_counter() - began))
    mine, base = (statistics.median(times) for times in seconds)
    return Row(name, mine, base, "ms", base / mine, note)


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    names = ["dsprites", "cars3d", "smallnorb", "shapes3d", *NOISE]
    print_rows([_compared(name, int(sys.argv[1])) for name in names])
