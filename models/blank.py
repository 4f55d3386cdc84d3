"""Encode all pictures of a data set, computing only what the sprite in each of them can change.

Where a convolution reads nothing but blank pixels, its output is that of the blank picture. So each
layer is computed in a window around what has changed in the layer before, and the rest is copied
from the blank picture. Pictures whose windows are the same in the third layer are encoded together:
such batches are large, and their windows are hardly larger than each picture's own. Only the last
bits differ from `models.representation.encode`.
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
from models.fast import Layers, with_fast
from models.network import Network
from models.representation import Floats, encode

Places: TypeAlias = NDArray[np.intp]  # numbers of pictures
Show: TypeAlias = Callable[[Places], Floats]  # the pictures of these numbers, none negative
Boxes: TypeAlias = NDArray[np.int32]  # (boxes, 4): first row, row after the last, columns likewise

BATCH = 128
WHOLE_BATCH = 256  # pictures that are encoded without windows: a multiple of the batch of `encode`
FEWEST = 256  # pictures; with fewer, preparing a window takes longer than it saves
GROUPING_LAYER = 3  # pictures are encoded together if their windows in this layer are the same


@torch.inference_mode()
def encode_all(network: Network, show: Show, count: int) -> Floats:
    """Codes of the pictures from 0 to `count` - 1. Only the study's networks have windows."""
    places = np.arange(count)
    if not isinstance(network, VAE) or network.is_residual:
        return encode_whole(network, show, places)
    vae = network
    if count < FEWEST or not is_small(_boxes_of(show, places[:: count // FEWEST])).mean() > 0.5:
        return encode_whole(vae, show, places)
    boxes = _boxes_of(show, places)
    codes = np.empty((count, vae.latents), np.float32)
    layers, without_window = convolutions(vae), []
    for group in grouped(boxes, layers):
        first, last = boxes[group].min(0), boxes[group].max(0)
        box = np.where([True, False, True, False], first, last)[None]
        if len(group) < FEWEST or not is_small(box).all():
            without_window.append(group)
            continue
        window = Window(vae, layers, box)
        for batch in _batches(group, BATCH):
            codes[batch] = window.means(show(batch))
    if without_window:
        others = np.sort(np.concatenate(without_window))
        codes[others] = encode_whole(vae, show, others)
    return codes


def boxes_around(images: Floats) -> Boxes:
    """Outside its box a picture is blank; if it is blank everywhere, its box is all of it."""
    values = torch.from_numpy(images)
    ends = []
    for other_axes in ((1, 3), (1, 2)):
        lines = values.amax(other_axes).numpy() != 0
        ends += [lines.argmax(1), lines.shape[1] - lines[:, ::-1].argmax(1)]
    return np.stack(ends, axis=1).astype(np.int32)


def outputs_of(inputs: Boxes, layer: nn.Conv2d, side: int) -> Boxes:
    """The outputs, of `side` rows and columns, that read anything within these boxes of inputs."""
    kernel, stride, padding = layer.kernel_size[0], layer.stride[0], int(layer.padding[0])
    outputs = np.empty_like(inputs)
    outputs[:, ::2] = (inputs[:, ::2] + padding - kernel) // stride + 1
    outputs[:, 1::2] = (inputs[:, 1::2] + padding - 1) // stride + 1
    return outputs.clip(0, side)


def encode_whole(network: Network, show: Show, places: Places) -> Floats:
    """Codes of these pictures, computed without windows."""
    return np.concatenate(
        [encode(network, show(batch))[0] for batch in _batches(places, WHOLE_BATCH)]
    )


def is_small(boxes: Boxes) -> NDArray[np.bool_]:
    """Whether a window is faster: up to about half the height and width of a picture."""
    return boxes[:, 1] - boxes[:, 0] + boxes[:, 3] - boxes[:, 2] <= SIDE


def _boxes_of(show: Show, places: Places) -> Boxes:
    return np.concatenate([boxes_around(show(batch)) for batch in _batches(places, BATCH)])


def _batches(places: Places, size: int) -> Iterator[Places]:
    return (places[i : i + size] for i in range(0, len(places), size))


@dataclass(frozen=True)
class Convolution:
    """A convolution, the same without padding and with its activation, and the blank picture."""

    layer: nn.Conv2d
    unpadded: Layers
    blank: Tensor  # its input from the blank picture, with padding
    result: Tensor  # its output for that


def convolutions(vae: VAE) -> list[Convolution]:
    values = torch.zeros(1, vae.channels, SIDE, SIDE, device=next(vae.parameters()).device)
    layers = []
    for layer in vae.encoder.features:
        if isinstance(layer, nn.Conv2d):
            without_padding = copy.copy(layer)
            without_padding.padding = (0, 0)
            unpadded = with_fast(Layers(without_padding, nn.ReLU()), vae.fast)
            blank = functional.pad(values, [int(layer.padding[0])] * 4)
            values = unpadded(blank)
            layers.append(Convolution(layer, unpadded, blank, values))
    return layers


def grouped(boxes: Boxes, layers: list[Convolution]) -> Iterator[Places]:
    """Pictures whose windows in the grouping layer are the same, in the order of their windows."""
    for layer in layers[:GROUPING_LAYER]:
        boxes = outputs_of(boxes, layer.layer, layer.result.shape[2])
    keys = boxes @ (SIDE + 1) ** np.arange(4, dtype=np.int32)
    order = np.argsort(keys, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


class Window:
    """An encoder for pictures that are blank outside one box."""

    def __init__(self, vae: VAE, layers: list[Convolution], box: Boxes) -> None:
        self.vae, self.pixels = vae, _slices(box)
        self.steps: list[tuple[Layers, Tensor, tuple[slice, slice]]] = []
        for layer in layers:
            outputs = outputs_of(box, layer.layer, layer.result.shape[2])
            kernel, stride = layer.layer.kernel_size[0], layer.layer.stride[0]
            inputs = outputs * stride  # counted from the first row and column of the padding
            inputs[:, 1::2] += kernel - stride
            corner = inputs[:, [0, 0, 2, 2]] - int(layer.layer.padding[0])
            surroundings = layer.blank[(..., *_slices(inputs))]
            self.steps.append((layer.unpadded, _repeated(surroundings), _slices(box - corner)))
            box = outputs
        rest = with_fast(Layers(*list(vae.encoder.features)[2 * len(layers) :]), vae.fast)
        self.steps.append((rest, _repeated(layers[-1].result), _slices(box)))

    def means(self, images: Floats) -> Floats:
        """Posterior means of up to BATCH pictures."""
        values = torch.from_numpy(images)[(..., *self.pixels)]
        for layers, surroundings, window in self.steps:
            whole = surroundings[: len(images)]
            whole[(..., *window)] = values
            values = layers(whole)
        means: Floats = self.vae.encoder.mean(values).cpu().numpy()
        return means


def _slices(box: Boxes) -> tuple[slice, slice]:
    top, bottom, left, right = box[0].tolist()
    return slice(top, bottom), slice(left, right)


def _repeated(values: Tensor) -> Tensor:
    """A batch of the same values, with its own memory and channels last."""
    batch = values.expand(BATCH, -1, -1, -1)
    return torch.empty_like(batch, memory_format=torch.channels_last).copy_(batch)
