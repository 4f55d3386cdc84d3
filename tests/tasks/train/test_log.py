"""What a model's log says, and which of its lines is the reason of a failure."""

import pytest

from infra.store import Store
from tasks.checkpoints import Checkpoints
from tasks.log import tries
from tasks.train import train_model
from tests.tasks.made_models import changed
from tests.tasks.train.training import MODEL, in_store, log


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
    (row,) = Store(tmp_path).read("models").to_pylist()
    assert row["tries"] == 2


def test_a_log_that_cannot_be_written_fails_no_model(tmp_path, monkeypatch):
    write = Store.write_bytes

    def full(self, content, *names, **settings):
        if names[-1] == "log.txt":
            raise OSError(28, "No space left on device")
        write(self, content, *names, **settings)

    monkeypatch.setattr(Store, "write_bytes", full)
    assert train_model(*in_store(tmp_path), changed(MODEL, steps=1)) == "trained"


BEGAN = "2026-11-19T10:00:00+00:00 host 7: training from step {} of 50"
LINE = "2026-11-19T10:00:00+00:00 host 7: {}"


@pytest.mark.parametrize(
    ("lines", "ends"),
    [
        ([], []),
        ([BEGAN.format(0)], [""]),
        (
            [BEGAN.format(0), BEGAN.format(20), LINE.format("trained, 3.1 s in all")],
            ["", "trained"],
        ),
        (
            [BEGAN.format(0), LINE.format("no answer for 2 minutes"), "ended because: time limit"],
            ["time limit"],
        ),
        (["ended because: time limit", BEGAN.format(0)], ["time limit", ""]),
        (
            [
                *(BEGAN.format(0), LINE.format("Traceback (most recent call last):")),
                *("ValueError: see training from step 3", "host 7: trained, 3.1 s in all"),
                LINE.format("failed: ValueError: 3.1 s in all, 0.2 s in all"),
                *(BEGAN.format(0), LINE.format("diverged: elbo was nan, 0.2 s in all")),
            ],
            ["failed: ValueError: 3.1 s in all", "diverged: elbo was nan"],
        ),
        (
            [
                *(BEGAN.format(0), LINE.format("trained, 3.1 s in all")),
                *(LINE.format("scored: mig"), "ended because: time limit"),
            ],
            ["trained"],
        ),
    ],
)
def test_a_log_says_how_each_try_ended(lines, ends):
    assert tries("\n".join(lines)) == ends
