"""What a model needed while it was trained does not outlive it, whatever happens."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from infra.store import Store
from tasks.checkpoints import Checkpoints
from tasks.leftovers import remove_leftovers, remove_what_stayed
from tasks.study.model import TRAINED
from tasks.study.survey import survey
from tasks.study.under_way import steps_under_way, write_steps
from tests.flows.trained import made_up, models_of, train


def test_what_could_not_be_removed_is_removed_by_a_later_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = made_up(tmp_path)
    ended, training, *_ = models_of(study)
    for model in (ended, training):
        Checkpoints(store, model.id).save(b"weights")
        write_steps(store, model.id, 5)
    train(store, [ended])

    def refuse(self: Store, *names: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "remove", refuse)
        remove_leftovers(store, study, ended, TRAINED)
    assert store.exists("models", ended.id, "checkpoint.pt")
    remove_what_stayed(store, study, survey(study, store))
    assert not store.exists("models", ended.id, "checkpoint.pt")
    assert steps_under_way(store) == {training.id: 5}
    assert list(Checkpoints(store, training.id).whole()) == [b"weights"], "it is still needed"
