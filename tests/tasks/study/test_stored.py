"""What a store binds its study to."""

from pathlib import Path

import pytest

from infra.errors import WrongInput
from infra.store import Store
from tasks.checkpoints import CHECKPOINTS, Checkpoints
from tasks.model_row import write_row
from tasks.study.reading import parse_study
from tasks.study.stored import STUDY_FILE, check_store, settled_study
from tests.tasks.study.test_spec import TINY

STUDY = parse_study(TINY)
OTHER = parse_study({**TINY, "training": {"steps": 7}})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """As a run leaves it that was refused or interrupted before it trained anything."""
    made = Store(tmp_path)
    made.prepare()
    made.write_json(settled_study(STUDY, made).model_dump(mode="json"), STUDY_FILE)
    return made


def test_a_store_in_which_nothing_was_trained_accepts_any_study(store: Store) -> None:
    assert check_store(settled_study(OTHER, store), store)
    assert not check_store(settled_study(STUDY, store), store)


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_a_checkpoint_binds_the_store(store: Store, checkpoint: str) -> None:
    model = settled_study(STUDY, store).cells()[0].models[0]
    Checkpoints(store, model.id).save(b"weights")
    store.move(("models", model.id, "checkpoint.pt"), ("models", model.id, checkpoint))
    with pytest.raises(WrongInput, match=r"training\.steps: found 7"):
        check_store(settled_study(OTHER, store), store)


def test_a_model_that_ended_binds_the_store(store: Store) -> None:
    model = settled_study(STUDY, store).cells()[0].models[0]
    write_row(model, store, "failed", "why")
    with pytest.raises(WrongInput, match=r"training\.steps: found 7"):
        check_store(settled_study(OTHER, store), store)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(WrongInput, match="an empty folder"):
        check_store(STUDY, Store(tmp_path))
