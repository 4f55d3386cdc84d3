"""Encode all pictures of a data set, computing only what the sprite in each of them can change.

Where a convolution reads nothing but blank pixels, its output is that of the blank picture. So each
layer is computed in a window around what has changed in the layer before, and the rest is copied
from the blank picture. Only the last bits differ from `models.representation.encode`.

Pictures whose windows are the same in the third layer are encoded together. Among them, those with
the same window in the second layer pass the first two layers in small batches, as these layers are
large: windows are then hardly larger than each picture's own, and a batch stays in the cache. Many
of these batches pass the later layers at once.
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
FindBoxes: TypeAlias = Callable[[Places], Boxes | None]

BATCH = 64  # pictures in the early layers
MANY = 512  # pictures in the later layers: a multiple of the batch
UNIT = 16  # pictures: batches are filled up to multiples, as oneDNN prepares each size anew
WHOLE_BATCH = 256  # pictures that are encoded without windows: a multiple of the batch of `encode`
FEWEST = 256  # pictures; with fewer, preparing a window takes longer than it saves
GROUPING_LAYER = 3  # pictures are encoded together if their windows in this layer are the same
EARLY = 2  # layers
FEW = BATCH // 2  # pictures that get no window of their own in the early layers


@torch.inference_mode()
def encode_all(
    network: Network, show: Show, count: int, known_boxes: FindBoxes | None = None
) -> Floats:
    """Codes of the pictures from 0 to `count` - 1. Only the study's networks have windows.

    Boxes, as `boxes_around` gives them, are found from the pictures if they are not known.
    """
    places = np.arange(count)
    if not isinstance(network, VAE) or network.is_residual:
        return encode_whole(network, show, places)
    vae = network

    def boxes_of_batch(batch: Places) -> Boxes:
        known = known_boxes(batch) if known_boxes else None
        return boxes_around(show(batch)) if known is None else known

    def boxes_of(places: Places) -> Boxes:
        return np.concatenate([boxes_of_batch(batch) for batch in _batches(places, 2 * BATCH)])

    if count < FEWEST or not is_small(boxes_of(places[:: count // FEWEST])).mean() > 0.5:
        return encode_whole(vae, show, places)
    boxes = boxes_of(places)
    codes = np.empty((count, vae.latents), np.float32)
    layers, without_window = convolutions(vae), []
    for group in grouped(boxes, layers[:GROUPING_LAYER]):
        if len(group) < FEWEST or not is_small(_around(boxes[group])).all():
            without_window.append(group)
            continue
        for places, means in _encoded(vae, layers, boxes[group], group, show):
            codes[places] = means
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


def _batches(places: Places, size: int) -> Iterator[Places]:
    return (places[i : i + size] for i in range(0, len(places), size))


@dataclass
class Convolution:
    """A convolution, the same without padding and with its activation, and the blank picture."""

    layer: nn.Conv2d
    unpadded: Layers
    blank: Tensor  # its input from the blank picture, with padding
    result: Tensor  # its output for that
    memory: Tensor  # of the inputs in a window, which that of the next window replaces

    def inputs(self, values: Tensor, count: int) -> Tensor:
        """A batch of the same values, channels last. Were its memory allocated for each window,
        small pieces of memory would stay unused between the windows'."""
        _, channels, rows, columns = values.shape
        size = count * channels * rows * columns
        if len(self.memory) < size:
            self.memory = values.new_empty(size)
        batch = self.memory[:size].view(count, rows, columns, channels)
        return batch.permute(0, 3, 1, 2).copy_(values)


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
            layers.append(Convolution(layer, unpadded, blank, values, values.new_empty(0)))
    return layers


def grouped(boxes: Boxes, layers: list[Convolution]) -> list[Places]:
    """Pictures whose windows are the same after these layers, in the order of their windows."""
    boxes = _through(layers, boxes)
    keys = boxes @ (SIDE + 1) ** np.arange(4, dtype=np.int32)
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


def _encoded(
    vae: VAE, layers: list[Convolution], boxes: Boxes, places: Places, show: Show
) -> Iterator[tuple[Places, Floats]]:
    """Codes of pictures which pass the later layers in one window, and which they are of."""
    later = Window(layers[EARLY:], _through(layers[:EARLY], _around(boxes)), MANY)
    last = Last(vae, layers[-1].result, later.outputs)
    collected: list[Places] = []
    for part in _parts(boxes, layers[:EARLY]):
        early = Window(layers[:EARLY], _around(boxes[part]), BATCH)
        for batch in _batches(places[part], BATCH):
            count = sum(map(len, collected))
            if count + len(batch) > MANY:
                yield np.concatenate(collected), last.means(later.results(count))
                collected, count = [], 0
            pixels = torch.from_numpy(show(batch))[(..., *_slices(early.box))]
            early.put(0, pixels, early.box)
            later.put(count, early.results(len(batch)), early.outputs)
            collected.append(batch)
    yield np.concatenate(collected), last.means(later.results(sum(map(len, collected))))


def _parts(boxes: Boxes, layers: list[Convolution]) -> list[Places]:
    """Groups as above, of which the small ones are put together."""
    groups = grouped(boxes, layers)
    small = [group for group in groups if len(group) < FEW]
    large = [group for group in groups if len(group) >= FEW]
    return [*large, np.concatenate(small)] if small else large


def _through(layers: list[Convolution], boxes: Boxes) -> Boxes:
    """What of the last layer's outputs changes if these boxes of the first one's inputs do."""
    for layer in layers:
        boxes = outputs_of(boxes, layer.layer, layer.result.shape[2])
    return boxes


def _around(boxes: Boxes) -> Boxes:
    """The one box around all of these."""
    box: Boxes = np.where([True, False, True, False], boxes.min(0), boxes.max(0))[None]
    return box


class Window:
    """Some of the convolutions, for up to `most` pictures that differ from the blank one in a box
    only."""

    def __init__(self, layers: list[Convolution], box: Boxes, most: int) -> None:
        """The box is in what the first of these layers reads."""
        self.box, self.most = box, most
        self.steps: list[tuple[Layers, Tensor, tuple[slice, slice]]] = []
        for layer in layers:
            outputs = _through([layer], box)
            kernel, stride = layer.layer.kernel_size[0], layer.layer.stride[0]
            read = outputs * stride  # counted from the first row and column of the padding
            read[:, 1::2] += kernel - stride
            corner = read[:, [0, 0, 2, 2]] - int(layer.layer.padding[0])
            surroundings = layer.blank[(..., *_slices(read))]
            if not self.steps:
                self.corner, self.blank = corner, surroundings
            inputs = layer.inputs(surroundings, most)
            self.steps.append((layer.unpadded, inputs, _slices(box - corner)))
            box = outputs
        self.outputs = box

    def put(self, first: int, values: Tensor, box: Boxes) -> None:
        """Pictures from the number `first` on differ in these values, which fill a box within the
        window's."""
        inputs = self.steps[0][1][first : first + len(values)]
        inputs.copy_(self.blank)
        inputs[(..., *_slices(box - self.corner))] = values

    def results(self, count: int) -> Tensor:
        """What differs after the last layer, for the first `count` pictures."""
        filled = min(-(-count // UNIT) * UNIT, self.most)
        layers, inputs, _ = self.steps[0]
        values: Tensor = layers(inputs[:filled])
        for layers, inputs, window in self.steps[1:]:
            inputs[:filled][(..., *window)] = values
            values = layers(inputs[:filled])
        return values[:count]


class Last:
    """The layers after the convolutions, of which only a box of the last one's results changes."""

    def __init__(self, vae: VAE, blank: Tensor, box: Boxes) -> None:
        _, linear, relu = list(vae.encoder.features)[-3:]
        rows, columns = _slices(box)
        weight = linear.weight.view(len(linear.weight), *blank.shape[1:])
        outside = blank.clone()
        outside[..., rows, columns] = 0
        changing = weight[..., rows, columns].permute(0, 2, 3, 1).flatten(1)
        part = nn.Linear(changing.shape[1], len(changing))
        part.weight.copy_(changing)
        part.bias.copy_(linear.bias + linear.weight @ outside.flatten())
        self.hidden, self.mean = with_fast(Layers(part, relu), vae.fast), vae.encoder.mean

    def means(self, values: Tensor) -> Floats:
        """Posterior means from what the last convolution gives within the box."""
        hidden = self.hidden(values.permute(0, 2, 3, 1).flatten(1))
        means: Floats = self.mean(hidden).cpu().numpy()
        return means


def _slices(box: Boxes) -> tuple[slice, slice]:
    top, bottom, left, right = box[0].tolist()
    return slice(top, bottom), slice(left, right)
