"""The weights of a trained model, as its folder in the store holds them."""

from __future__ import annotations

import zlib

import torch
from safetensors.torch import load as load_weights
from safetensors.torch import save as save_weights

from infra.errors import WrongInput
from infra.store import Store
from models.building import build_network
from models.network import Network
from tasks.study.model import Model

WEIGHTS, IDENTITY = "weights.safetensors", "model.json"
CHECKSUM = "weights_crc32"  # in the latter


def save_model(network: Network, model: Model, channels: int, store: Store) -> None:
    """Write the weights, and what must be known to load them."""
    weights = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    content = save_weights(weights)
    store.write_bytes(content, "models", model.id, WEIGHTS, lasting=True)
    known = {**model.identity, "channels": channels, CHECKSUM: zlib.crc32(content)}
    store.write_json(known, "models", model.id, IDENTITY)


def load_model(model: Model, store: Store) -> Network:
    """A trained model's network, on the CPU."""
    known = store.read_json("models", model.id, IDENTITY)
    content = store.read_bytes("models", model.id, WEIGHTS)
    if CHECKSUM in known and known[CHECKSUM] != zlib.crc32(content):  # older versions wrote none
        found = "another content than was written"
        accepted = "the file as it was, for example from a backup"
        raise WrongInput(store.path("models", model.id, WEIGHTS), found, accepted)
    network = build_network(model.method, known["channels"], model.latents, model.architecture)
    network.load_state_dict(load_weights(content))
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network.eval()
