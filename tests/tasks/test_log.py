"""What a model's log says, and which of its lines is the reason of a failure."""

import pytest

from infra.store import Store
from tasks.checkpoints import Checkpoints
from tasks.train import train_model
from tests.tasks.made_models import changed
from tests.tasks.test_train import MODEL, cache, in_store, log  # noqa: F401


class Killed(BaseException):
    """An exception that no code catches, in place of a kill."""


def test_a_models_log_has_the_step_at_which_each_attempt_began(tmp_path, monkeypatch):
    def interrupted(self, content):
        save(self, content)
        raise Killed

    save = Checkpoints.save
    monkeypatch.setattr(Checkpoints, "save", interrupted)
    often = in_store(tmp_path, steps=20)
    with pytest.raises(Killed):
        train_model(*often, MODEL)
    monkeypatch.undo()
    assert train_model(*often, MODEL) == "trained"
    began = [line for line in log(tmp_path).splitlines() if "training from" in line]
    assert [line.partition(": ")[2] for line in began] == [
        f"training from step 0 of {MODEL.recipe.steps}",
        f"training from step 20 of {MODEL.recipe.steps}",
    ]


def test_a_log_that_cannot_be_written_fails_no_model(tmp_path, monkeypatch):
    write = Store.write_bytes

    def full(self, content, *names, **settings):
        if names[-1] == "log.txt":
            raise OSError(28, "No space left on device")
        write(self, content, *names, **settings)

    monkeypatch.setattr(Store, "write_bytes", full)
    assert train_model(*in_store(tmp_path), changed(MODEL, steps=1)) == "trained"
