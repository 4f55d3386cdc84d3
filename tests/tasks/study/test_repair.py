"""`--retry damaged`: which models are trained again, and where damaged parts go."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.store import DAMAGED, Store, merged_key
from tasks.study.groups import is_finished
from tasks.study.model import Model
from tasks.study.repair import forget_damaged
from tasks.study.spec import Study
from tasks.study.survey import survey
from tasks.study.weight_files import IDENTITY, WEIGHTS, write_weights
from tests.flows.trained import compared, made_up, models_of, train

CURVE = {"step": [1, 2], "loss": 1.0, "reconstruction": 1.0, "kl": 0.0, "regulariser": 0.0}


@pytest.fixture
def done(tmp_path: Path) -> tuple[Study, Store]:
    """A study of which all is done; the first cell's curves and rows are merged."""
    study, store = made_up(tmp_path / "store")
    train(store, models_of(study))
    for model in models_of(study):
        store.write_part("curves", model.id, {**model.keys, **CURVE})
    first = study.cells()[0]
    for table in ("models", "curves", "scores"):
        store.merge(table, first.name, [model.id for model in first.models])
    compared(study, store)
    return study, store


def flip(store: Store, table: str, key: str) -> None:
    """The lowest bit of a byte in the middle."""
    content = bytearray(store.read_bytes("tables", table, f"{key}.parquet"))
    content[len(content) // 2] ^= 1
    store.write_bytes(bytes(content), "tables", table, f"{key}.parquet")


def to_do(study: Study, store: Store) -> list[Model]:
    return [model for state in survey(study, store) for model in state.unfinished]


def test_nothing_is_done_where_nothing_is_damaged(done: tuple[Study, Store]) -> None:
    study, store = done
    assert forget_damaged(study, store) == (0, 0)
    assert is_finished(study, store, survey(study, store)) and not store.exists(DAMAGED)


@pytest.mark.parametrize("table", ["curves", "representations"])
def test_a_model_that_lost_what_only_training_gives_is_trained_again(
    table: str, done: tuple[Study, Store]
) -> None:
    study, store = done
    model = models_of(study)[-1]
    flip(store, table, model.id)
    assert not to_do(study, store), "a run without --retry does not read it"
    assert forget_damaged(study, store).models == 1
    assert to_do(study, store) == [model]
    (aside,) = store.names(DAMAGED)
    assert aside.startswith(f"{table}-{model.id}") and not store.has_part(table, model.id)
    assert not store.rows_of("scores", model.id, model.cell).num_rows


def test_a_model_whose_weights_changed_is_trained_again(done: tuple[Study, Store]) -> None:
    study, store = done
    changed, whole, older, *_ = models_of(study)
    for model in (changed, whole, older):
        write_weights(b"weights", model, 1, store)
    store.write_bytes(b"weighty", "models", changed.id, WEIGHTS)
    store.write_json({**older.identity, "channels": 1}, "models", older.id, IDENTITY)
    assert forget_damaged(study, store).models == 1
    assert to_do(study, store) == [changed]


def test_other_damaged_parts_of_the_same_model_are_no_obstacle(done: tuple[Study, Store]) -> None:
    study, store = done
    model = models_of(study)[-1]
    for table in ("scores", "representations"):
        flip(store, table, model.id)
    assert forget_damaged(study, store).models == 1
    assert to_do(study, store) == [model]


def test_all_models_of_a_merged_part_are_unless_they_have_their_own(
    done: tuple[Study, Store],
) -> None:
    study, store = done
    one, other = study.cells()[0].models
    store.write_part("curves", other.id, {**other.keys, **CURVE})
    flip(store, "curves", merged_key(one.cell))
    assert forget_damaged(study, store).models == 1
    assert to_do(study, store) == [one]


def test_a_lost_representation_is_made_again_too(done: tuple[Study, Store]) -> None:
    study, store = done
    model = models_of(study)[0]
    store.remove_part("representations", model.id)
    assert forget_damaged(study, store).models == 1
    assert to_do(study, store) == [model]


@pytest.mark.parametrize("table", ["models", "scores", "pairs", "ranks"])
def test_other_parts_are_set_aside_and_made_again_by_any_run(
    table: str, done: tuple[Study, Store]
) -> None:
    study, store = done
    key = store.parts(table)[0]
    flip(store, table, key)
    assert forget_damaged(study, store) == (0, 1)
    assert not store.has_part(table, key) and len(store.names(DAMAGED)) == 1
    assert not is_finished(study, store, survey(study, store))


def test_what_was_found_is_not_forgotten_if_it_is_killed(
    done: tuple[Study, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = done
    model = models_of(study)[-1]
    flip(store, "curves", model.id)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "set_aside", killed)
        with pytest.raises(KeyboardInterrupt):
            forget_damaged(study, store)
    forget_damaged(study, store)
    assert to_do(study, store) == [model] and not store.has_part("curves", model.id)
