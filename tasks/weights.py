"""The weights of a trained model, from and to its network."""

from __future__ import annotations

import torch
from safetensors.torch import load as load_weights
from safetensors.torch import save as save_weights

from infra.store import Store
from models.building import build_network
from models.network import Network
from tasks.study.model import Model
from tasks.study.weight_files import read_weights, write_weights


def save_model(network: Network, model: Model, channels: int, store: Store) -> None:
    """Write the weights, and what must be known to load them."""
    weights = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    write_weights(save_weights(weights), model, channels, store)


def load_model(model: Model, store: Store) -> Network:
    """A trained model's network, on the CPU."""
    weights, known = read_weights(model.id, store)
    network = build_network(model.method, known["channels"], model.latents, model.architecture)
    network.load_state_dict(load_weights(weights))
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network.eval()
