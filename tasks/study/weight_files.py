"""The file of a trained model's weights, beside it what must be known to load them, and a checksum
that shows a changed bit."""

from __future__ import annotations

import json
import zlib
from typing import Any

from infra.errors import WrongInput
from infra.store import Store
from tasks.study.model import Model

WEIGHTS, IDENTITY = "weights.safetensors", "model.json"
CHECKSUM = "weights_crc32"  # a key of the latter
MORE_KEYS = ("channels", CHECKSUM)  # than those of a model's identity


def write_weights(content: bytes, model: Model, channels: int, store: Store) -> None:
    store.write_bytes(content, "models", model.id, WEIGHTS, lasting=True)
    known = {**model.identity, "channels": channels, CHECKSUM: zlib.crc32(content)}
    store.write_json(known, "models", model.id, IDENTITY)


def read_weights(model_id: str, store: Store) -> tuple[bytes, dict[str, Any]]:
    """The weights as they were written, and the model's identity."""
    known = store.read_json("models", model_id, IDENTITY)
    content = store.read_bytes("models", model_id, WEIGHTS)
    if CHECKSUM in known and known[CHECKSUM] != zlib.crc32(content):  # older versions wrote none
        found = "another content than was written"
        accepted = "the file as it was: from a backup, or trained again with --retry damaged"
        raise WrongInput(store.address("models", model_id, WEIGHTS), found, accepted)
    return content, known


def stored_model(model_id: str, store: Store) -> Model:
    """The model whose weights these are."""
    known = store.read_json("models", model_id, IDENTITY)
    return Model.from_identity({n: v for n, v in known.items() if n not in MORE_KEYS})


def are_damaged(model_id: str, store: Store) -> bool:
    """Whether the weights are there and cannot be used."""
    try:
        read_weights(model_id, store)
    except FileNotFoundError:
        return False
    except (WrongInput, json.JSONDecodeError, UnicodeDecodeError):
        return True
    return False
