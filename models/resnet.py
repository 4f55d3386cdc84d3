"""The residual networks of Eastwood & Williams 2018, Table 2: those of Gulrajani et al. 2017.

Pictures are scaled to [-1, 1], as the decoder ends in tanh.

Conventions, where the table is silent:
- A block's input is added to its output after a 1x1 convolution, before which it is made larger or
  after which it is made smaller, as in the released code of Gulrajani et al. 2017.
- All convolutions have a bias.
- Weights start as those of the study's networks: Glorot-uniform, biases at zero.

`resnet_small` has an eighth of the channels, for a machine without a GPU. No paper has it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional

WIDTHS = {"resnet": 64, "resnet_small": 8}  # channels next to the picture
MULTIPLES = (1, 2, 4, 8, 8)  # of the width: channels at 64, 32, 16, 8 and 4 pixels
FIRST_SIDE = 4  # of what the convolutions end in, in pixels

Norm = Callable[[int], nn.Module]


def layer_norm(channels: int) -> nn.Module:
    """Over all pixels and channels of a picture; a scale and an offset for each channel."""
    return nn.GroupNorm(1, channels)


class Block(nn.Module):
    """Two convolutions, each after a normalisation and ReLU, and the input added to what they give.

    `larger` doubles the picture's sides before the first one, otherwise the mean of four pixels
    follows the second one.
    """

    def __init__(
        self, inputs: int, outputs: int, larger: bool, norm: Norm = nn.BatchNorm2d
    ) -> None:
        super().__init__()
        between = outputs if larger else inputs
        self.larger = larger
        self.norms = nn.ModuleList([norm(inputs), norm(between)])
        self.first = nn.Conv2d(inputs, between, 3, padding=1)
        self.second = nn.Conv2d(between, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1)

    def forward(self, values: Tensor) -> Tensor:
        hidden = functional.relu(self.norms[0](values))
        if self.larger:
            hidden, values = doubled(hidden), doubled(values)
        hidden = functional.relu(self.norms[1](self.first(hidden)))
        hidden = self.second(hidden)
        if not self.larger:
            hidden, values = halved(hidden), halved(values)
        result: Tensor = self.shortcut(values) + hidden
        return result


def doubled(values: Tensor) -> Tensor:
    """Each pixel four times: nearest-neighbour upsampling."""
    larger: Tensor = functional.interpolate(values, scale_factor=2)
    return larger


def halved(values: Tensor) -> Tensor:
    """The mean of each two by two pixels."""
    return functional.avg_pool2d(values, 2)


def encoder_layers(channels: int, width: int, norm: Norm = nn.BatchNorm2d) -> nn.Sequential:
    """From pictures in [-1, 1] to features, flattened."""
    sizes = [width * multiple for multiple in MULTIPLES]
    blocks = [Block(before, after, False, norm) for before, after in pairwise(sizes)]
    return nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), *blocks, nn.Flatten())


def features(width: int) -> int:
    """How many numbers the encoder's layers give for a picture."""
    return FIRST_SIDE**2 * width * MULTIPLES[-1]


class ResNetEncoder(nn.Module):
    """Pictures from 0 to 1 to the mean and log-variance of a Gaussian per latent."""

    def __init__(self, channels: int, latents: int, architecture: str) -> None:
        super().__init__()
        width = WIDTHS[architecture]
        self.features = encoder_layers(channels, width)
        self.mean = nn.Linear(features(width), latents)
        self.logvar = nn.Linear(features(width), latents)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        values = self.features(scaled(images))
        return self.mean(values), self.logvar(values)


class ResNetDecoder(nn.Module):
    """Latents to pictures from -1 to 1."""

    def __init__(self, channels: int, latents: int, architecture: str) -> None:
        super().__init__()
        width = WIDTHS[architecture]
        sizes = [width * multiple for multiple in reversed(MULTIPLES)]
        self.layers = nn.Sequential(
            nn.Linear(latents, features(width)),
            nn.Unflatten(1, (sizes[0], FIRST_SIDE, FIRST_SIDE)),
            *(Block(before, after, True) for before, after in pairwise(sizes)),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, channels, 3, padding=1),
            nn.Tanh(),
        )

    def forward(self, latents: Tensor) -> Tensor:
        pictures: Tensor = self.layers(latents)
        return pictures


def scaled(images: Tensor) -> Tensor:
    """Pictures from 0 to 1, scaled to [-1, 1]."""
    return 2 * images - 1


def unscaled(pictures: Tensor) -> Tensor:
    """Pictures from -1 to 1, scaled to [0, 1]."""
    return (pictures + 1) / 2
