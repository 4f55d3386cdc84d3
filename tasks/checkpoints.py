"""Checkpoints of a model in training: the newest and the one before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from infra.store import Store

NEWEST, BEFORE = CHECKPOINTS = ("checkpoint.pt", "checkpoint-before.pt")
DIGEST = 32  # bytes of SHA-256 in front of the content, which show damage


class Checkpoints:
    """The checkpoints of one model. A kill at any moment leaves at least one undamaged."""

    def __init__(self, store: Store, model_id: str) -> None:
        self.store, self.folder = store, ("models", model_id)
        self._newest_is_whole: bool | None = None  # unknown before it is read or written

    def save(self, content: bytes) -> None:
        if self._newest_is_whole is None:
            self._whole(NEWEST)
        if self._newest_is_whole:  # a damaged one must not push out a good one
            try:
                self.store.move((*self.folder, NEWEST), (*self.folder, BEFORE))
            except OSError:  # fine if another worker, which trains the model too, took it away
                if self.store.exists(*self.folder, NEWEST):
                    raise
        sealed = hashlib.sha256(content).digest() + content
        self.store.write_bytes(sealed, *self.folder, NEWEST)
        self._newest_is_whole = True

    def whole(self) -> Iterator[bytes]:
        """Undamaged checkpoints, the newest first."""
        for name in (NEWEST, BEFORE):
            if (content := self._whole(name)) is not None:
                yield content

    def remove(self) -> None:
        for name in (NEWEST, BEFORE):
            self.store.remove(*self.folder, name)

    def _whole(self, name: str) -> bytes | None:
        content = None
        if self.store.exists(*self.folder, name):
            sealed = self.store.read_bytes(*self.folder, name)
            if hashlib.sha256(sealed[DIGEST:]).digest() == sealed[:DIGEST]:
                content = sealed[DIGEST:]
        if name == NEWEST:
            self._newest_is_whole = content is not None
        return content
