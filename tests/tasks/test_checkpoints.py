"""Whenever the writer dies and whatever is damaged, a whole checkpoint is found if there is one."""

import pytest

from infra.store import Store
from tasks.checkpoints import BEFORE, NEWEST, Checkpoints


@pytest.fixture
def checkpoints(tmp_path) -> Checkpoints:
    return Checkpoints(Store(tmp_path), "a")


def reopened(checkpoints: Checkpoints) -> Checkpoints:
    """The checkpoints as a new process sees them."""
    return Checkpoints(checkpoints.store, "a")


def damage(checkpoints: Checkpoints, name: str) -> None:
    content = bytearray(checkpoints.store.read_bytes("models", "a", name))
    content[-1] ^= 1
    checkpoints.store.write_bytes(bytes(content), "models", "a", name)


def test_the_newest_comes_first_and_one_older_is_kept(checkpoints):
    for content in (b"1", b"2", b"3"):
        checkpoints.save(content)
    assert list(reopened(checkpoints).whole()) == [b"3", b"2"]
    checkpoints.remove()
    assert list(reopened(checkpoints).whole()) == []


def test_another_worker_of_the_model_may_take_a_checkpoint_away(checkpoints):
    checkpoints.save(b"1")
    reopened(checkpoints).remove()
    checkpoints.save(b"2")
    assert list(reopened(checkpoints).whole()) == [b"2"]


@pytest.mark.parametrize(("damaged", "readable"), [(NEWEST, [b"1"]), (BEFORE, [b"2"])])
def test_a_damaged_checkpoint_is_skipped_and_replaces_no_good_one(checkpoints, damaged, readable):
    checkpoints.save(b"1")
    checkpoints.save(b"2")
    damage(checkpoints, damaged)
    assert list(reopened(checkpoints).whole()) == readable
    reopened(checkpoints).save(b"3")
    assert list(reopened(checkpoints).whole()) == ([b"3", *readable])


def test_killed_between_the_two_renames_the_previous_checkpoint_remains(checkpoints, monkeypatch):
    checkpoints.save(b"1")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write_bytes", killed)
        with pytest.raises(KeyboardInterrupt):
            checkpoints.save(b"2")
    assert list(reopened(checkpoints).whole()) == [b"1"]
    reopened(checkpoints).save(b"3")
    assert list(reopened(checkpoints).whole()) == [b"3", b"1"]


def test_other_files_are_not_read_as_checkpoints(checkpoints):
    for content in (b"", b"short", bytes(100)):
        checkpoints.store.write_bytes(content, "models", "a", NEWEST)
        assert list(reopened(checkpoints).whole()) == []
