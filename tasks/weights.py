"""The weights of a trained model, as its folder in the store holds them."""

from __future__ import annotations

import torch
from safetensors.torch import load as load_weights
from safetensors.torch import save as save_weights

from infra.store import Store
from models.building import build_network
from models.network import Network
from tasks.study.model import Model

WEIGHTS, IDENTITY = "weights.safetensors", "model.json"


def save_model(network: Network, model: Model, channels: int, store: Store) -> None:
    """Write the weights, and what must be known to load them."""
    weights = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    store.write_bytes(save_weights(weights), "models", model.id, WEIGHTS, lasting=True)
    store.write_json({**model.identity, "channels": channels}, "models", model.id, IDENTITY)


def load_model(model: Model, store: Store) -> Network:
    """A trained model's network, on the CPU."""
    channels = store.read_json("models", model.id, IDENTITY)["channels"]
    network = build_network(model.method, channels, model.latents, model.architecture)
    weights = store.read_bytes("models", model.id, WEIGHTS)
    network.load_state_dict(load_weights(weights))
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network.eval()
