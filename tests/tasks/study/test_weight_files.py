"""Weights are read as they were written, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.errors import WrongInput
from infra.store import Store
from tasks.study.weight_files import (
    IDENTITY,
    WEIGHTS,
    are_damaged,
    read_weights,
    stored_model,
    write_weights,
)
from tests.tasks.made_models import SMALL

CONTENT = b"the weights of a model"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path)
    write_weights(CONTENT, SMALL, 3, made)
    return made


def test_weights_come_back_with_their_model(store: Store) -> None:
    content, known = read_weights(SMALL.id, store)
    assert (content, known["channels"]) == (CONTENT, 3)
    assert stored_model(SMALL.id, store) == SMALL and not are_damaged(SMALL.id, store)


def test_weights_with_a_changed_bit_are_refused(store: Store) -> None:
    changed = bytes([*CONTENT[:-1], CONTENT[-1] ^ 1])  # of a weight: safetensors would not notice
    store.write_bytes(changed, "models", SMALL.id, WEIGHTS)
    with pytest.raises(WrongInput, match=r"weights\.safetensors: found another content"):
        read_weights(SMALL.id, store)
    assert are_damaged(SMALL.id, store)
    store.write_json({**SMALL.identity, "channels": 3}, "models", SMALL.id, IDENTITY)
    assert read_weights(SMALL.id, store)[0] == changed, "older versions wrote no checksum"


@pytest.mark.parametrize("content", [b"{", b"\xff"])
def test_weights_whose_identity_cannot_be_read_are_damaged(store: Store, content: bytes) -> None:
    store.write_bytes(content, "models", SMALL.id, IDENTITY)
    assert are_damaged(SMALL.id, store)


def test_a_model_without_weights_is_not_damaged(store: Store) -> None:
    store.remove("models", SMALL.id, WEIGHTS)
    assert not are_damaged(SMALL.id, store)
