"""VAEs, and the networks of the study: Table 2 of Locatello et al. 2019.

- `paper` has the table's 4x4 kernels in all convolutions; `library` has the 2x2 kernels that the
  authors' released code uses in the third and fourth one.
- Other architectures are in models/resnet.py.
- Kernels start Glorot-uniform and biases at zero, the defaults of the framework of that study.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from models import DECODER_LAYERS, RESNETS
from models.fast import Layers, with_fast
from models.network import Network, bernoulli_loss, gaussian_loss
from models.resnet import ResNetDecoder, ResNetEncoder, scaled, unscaled

SIDE = 64  # images are SIDE x SIDE


class Encoder(nn.Module):
    """Images to the mean and log-variance of a Gaussian per latent."""

    def __init__(self, channels: int, latents: int, architecture: str = "paper") -> None:
        super().__init__()
        late = {"paper": 4, "library": 2}[architecture]
        self.features = Layers(
            _halving(channels, 32, 4),
            nn.ReLU(),
            _halving(32, 32, 4),
            nn.ReLU(),
            _halving(32, 64, late),
            nn.ReLU(),
            _halving(64, 64, late),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * 4 * 64, 256),
            nn.ReLU(),
        )
        self.mean = nn.Linear(256, latents)
        self.logvar = nn.Linear(256, latents)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(images)
        return self.mean(features), self.logvar(features)


class Decoder(nn.Module):
    """Latents to the logits of a Bernoulli per pixel and channel."""

    def __init__(self, channels: int, latents: int) -> None:
        super().__init__()
        self.layers = Layers(
            nn.Linear(latents, 256),
            nn.ReLU(),
            nn.Linear(256, 4 * 4 * 64),
            nn.ReLU(),
            nn.Unflatten(1, (64, 4, 4)),
            _doubling(64, 64),
            nn.ReLU(),
            _doubling(64, 32),
            nn.ReLU(),
            _doubling(32, 32),
            nn.ReLU(),
            _doubling(32, channels),
        )

    def forward(self, latents: Tensor) -> Tensor:
        logits: Tensor = self.layers(latents)
        return logits

    def hidden(self, latents: Tensor, names: Sequence[str]) -> list[Tensor]:
        """What hidden layers of these names give, after their ReLU."""
        ends = [place + 1 for place, layer in enumerate(self.layers) if isinstance(layer, nn.ReLU)]
        values, start, by_name = latents, 0, {}
        for name, end in zip(DECODER_LAYERS, ends, strict=True):
            values = with_fast(self.layers[start:end], self.layers.fast)(values)
            by_name[name], start = values, end
            if by_name.keys() >= set(names):
                break
        return [by_name[name] for name in names]


class VAE(Network):
    """Encoder and decoder of one model, and the loss of its reconstructions.

    `fast` is how the layers are computed on a CPU (models/fast.py). It is not part of the model:
    the last bits of the results differ, names and shapes of the weights do not.
    """

    def __init__(
        self, channels: int, latents: int, architecture: str = "paper", fast: bool = True
    ) -> None:
        super().__init__(channels, latents)
        self.architecture, self.fast = architecture, fast
        self.is_residual = architecture in RESNETS
        self.encoder: Any
        self.decoder: Any
        if self.is_residual:
            self.encoder = ResNetEncoder(channels, latents, architecture)
            self.decoder = ResNetDecoder(channels, latents, architecture)
            self.reach = 3.0  # Eastwood & Williams 2018, appendix D
        else:
            self.encoder = Encoder(channels, latents, architecture)
            self.decoder = Decoder(channels, latents)
        with_fast(self, fast)

    def code(self, images: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.encoder(images)
        return mean, logvar

    def pictures(self, codes: Tensor) -> Tensor:
        decoded = self.decoder(codes)
        return unscaled(decoded) if self.is_residual else torch.sigmoid(decoded)

    def reconstruction(self, decoded: Tensor, images: Tensor) -> Tensor:
        """The loss of what the decoder gives, averaged over the batch."""
        if self.is_residual:
            return gaussian_loss(decoded, scaled(images))
        return bernoulli_loss(decoded, images)

    def losses(self, images: Tensor, codes: Tensor) -> Tensor:
        decoded = self.decoder(codes)
        # each image as a batch of its own
        return torch.vmap(self.reconstruction)(decoded[:, None], images[:, None])


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Glorot-uniform kernels and zero biases, drawn in the order of the module's layers."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            nn.init.xavier_uniform_(layer.weight, generator=generator)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)


def _halving(inputs: int, outputs: int, kernel: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride=2, padding=kernel // 2 - 1)


def _doubling(inputs: int, outputs: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1)
