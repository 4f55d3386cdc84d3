"""Every picture of a set through an encoder, computing only what the sprite in it can change.

Where a convolution reads nothing but blank pixels, its output is that of the blank picture. So each
layer is computed in a window around what has changed in the layer before, and the rest is taken
from the blank picture. Pictures go together whose windows are the same in the third layer: such
batches are large, and their windows hardly larger than each picture's own. It is the same
mathematics as in `models.representation.encode`; only the last bits differ.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from models.architecture import SIDE, VAE
from models.fast import run
from models.representation import Floats, encode

Places: TypeAlias = NDArray[np.intp]
Show: TypeAlias = Callable[[Places], Floats]  # the pictures of these numbers, none negative
Boxes: TypeAlias = NDArray[np.int64]  # (boxes, 4): first row, row after the last, columns likewise

BATCH = 128
AT_ONCE = 1024  # shown together where there are no windows: a multiple of what `encode` takes
ENOUGH = 256  # pictures; with fewer, to prepare a window takes longer than it saves
SHARED = 3  # the layer in which pictures that go together have the same window


@torch.inference_mode()
def encode_all(vae: VAE, show: Show, count: int) -> Floats:
    """Posterior means of the pictures from 0 to `count` - 1."""
    places = np.arange(count)
    if count < ENOUGH or not _small(_boxes_of(show, places[:: count // ENOUGH])).mean() > 0.5:
        return _plainly(vae, show, places)
    around = _boxes_of(show, places)
    codes = np.empty((count, vae.latents), np.float32)
    layers, left = _layers(vae), []
    for together in _groups(around, layers):
        box = np.where([True, False, True, False], around[together].min(0), around[together].max(0))
        if len(together) < ENOUGH or not _small(box[None]).all():
            left.append(together)
            continue
        window = _Window(vae, layers, box[None])
        for some in _parts(together, BATCH):
            codes[some] = window.means(show(some))
    if left:
        others = np.sort(np.concatenate(left))
        codes[others] = _plainly(vae, show, others)
    return codes


def boxes(images: Floats) -> Boxes:
    """Outside of its box a picture is blank; if it is blank everywhere, its box is all of it."""
    values = torch.from_numpy(images)
    ends = []
    for others in ((1, 3), (1, 2)):
        lines = values.amax(others).numpy() != 0
        ends += [lines.argmax(1), lines.shape[1] - lines[:, ::-1].argmax(1)]
    return np.stack(ends, axis=1)


def reached(inputs: Boxes, layer: nn.Conv2d, side: int) -> Boxes:
    """The outputs, of `side` rows and columns, that read anything within these boxes of inputs."""
    kernel, stride, padding = layer.kernel_size[0], layer.stride[0], int(layer.padding[0])
    outputs = np.empty_like(inputs)
    outputs[:, ::2] = (inputs[:, ::2] + padding - kernel) // stride + 1
    outputs[:, 1::2] = (inputs[:, 1::2] + padding - 1) // stride + 1
    return outputs.clip(0, side)


def _plainly(vae: VAE, show: Show, places: Places) -> Floats:
    return np.concatenate([encode(vae, show(some))[0] for some in _parts(places, AT_ONCE)])


def _boxes_of(show: Show, places: Places) -> Boxes:
    return np.concatenate([boxes(show(some)) for some in _parts(places, BATCH)])


def _parts(places: Places, size: int) -> Iterator[Places]:
    return (places[i : i + size] for i in range(0, len(places), size))


def _small(around: Boxes) -> NDArray[np.bool_]:
    """Whether windows pay: up to about half as high and wide as a picture."""
    return around[:, 1] - around[:, 0] + around[:, 3] - around[:, 2] <= SIDE


@dataclass(frozen=True)
class _Layer:
    """A convolution, the same without padding and with its activation, and the blank picture."""

    convolution: nn.Conv2d
    unpadded: nn.Sequential
    blank: Tensor  # what it reads of the blank picture, padding and all
    result: Tensor  # what it makes of that


def _layers(vae: VAE) -> list[_Layer]:
    values = torch.zeros(1, vae.channels, SIDE, SIDE, device=next(vae.parameters()).device)
    layers = []
    for convolution in vae.encoder.features:
        if isinstance(convolution, nn.Conv2d):
            without = copy.copy(convolution)
            without.padding = (0, 0)
            unpadded = nn.Sequential(without, nn.ReLU())
            blank = functional.pad(values, [int(convolution.padding[0])] * 4)
            values = run(unpadded, blank, vae.fast)
            layers.append(_Layer(convolution, unpadded, blank, values))
    return layers


def _groups(around: Boxes, layers: list[_Layer]) -> Iterator[Places]:
    """Pictures whose windows are the same in the layer SHARED, in the order of their windows."""
    for layer in layers[:SHARED]:
        around = reached(around, layer.convolution, layer.result.shape[2])
    keys = around @ (SIDE + 1) ** np.arange(4)
    order = np.argsort(keys, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


class _Window:
    """An encoder for pictures that are blank outside of one box."""

    def __init__(self, vae: VAE, layers: list[_Layer], box: Boxes) -> None:
        self.vae, self.pixels = vae, _slices(box)
        self.steps: list[tuple[nn.Sequential, Tensor, tuple[slice, slice]]] = []
        for layer in layers:
            outputs = reached(box, layer.convolution, layer.result.shape[2])
            kernel, stride = layer.convolution.kernel_size[0], layer.convolution.stride[0]
            read = outputs * stride  # counted from the first row and column of the padding
            read[:, 1::2] += kernel - stride
            corner = read[:, [0, 0, 2, 2]] - int(layer.convolution.padding[0])
            surroundings = layer.blank[(..., *_slices(read))]
            self.steps.append((layer.unpadded, _repeated(surroundings), _slices(box - corner)))
            box = outputs
        rest = nn.Sequential(*list(vae.encoder.features)[2 * len(layers) :])
        self.steps.append((rest, _repeated(layers[-1].result), _slices(box)))

    def means(self, images: Floats) -> Floats:
        """Posterior means of up to BATCH pictures."""
        values = torch.from_numpy(images)[(..., *self.pixels)]
        for layers, surroundings, place in self.steps:
            whole = surroundings[: len(images)]
            whole[(..., *place)] = values
            values = run(layers, whole, self.vae.fast)
        means: Floats = self.vae.encoder.mean(values).cpu().numpy()
        return means


def _slices(box: Boxes) -> tuple[slice, slice]:
    top, bottom, left, right = box[0].tolist()
    return slice(top, bottom), slice(left, right)


def _repeated(values: Tensor) -> Tensor:
    """A batch of the same, with memory of its own and channels last."""
    batch = values.expand(BATCH, -1, -1, -1)
    return torch.empty_like(batch, memory_format=torch.channels_last).copy_(batch)
