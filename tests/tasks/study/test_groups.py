"""The compare stage of a run: groups, growth, older layouts and what goes wrong."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import worker
from flows.driver import StudyRun
from infra.store import Store
from tasks.study.groups import all_ranked, groups_of
from tasks.study.spec import Study
from tasks.study.survey import survey
from tests.flows.trained import Inline, compared, made_up, models_of, train

GROUPS = ["dsprites-beta_vae", "dsprites-factor_vae"]


@pytest.fixture
def full(tmp_path: Path) -> tuple[Study, Store]:
    study, store = made_up(tmp_path / "store")
    train(store, models_of(study))
    return study, store


def with_udr(study: Study, **changes: Any) -> Study:
    return study.model_copy(update={"udr": study.udr.model_copy(update=changes)})


def stands(study: Study, store: Store) -> bool:
    return all_ranked(study, store, survey(study, store))


def times(store: Store, table: str = "pairs") -> dict[str, int]:
    return dict(store.listing("tables", table))


def ranked(store: Store) -> dict[tuple[str, str, str], Any]:
    rows = store.read("ranks").to_pylist()
    udr_of = {(row["model_id"], row["similarity"], row["pool"]): row["udr"] for row in rows}
    assert len(udr_of) == len(rows)
    return udr_of


@pytest.mark.parametrize(
    ("pools", "groups"),
    [
        (("cell",), GROUPS),
        (("cell", "method"), GROUPS),
        (("data", "cell"), ["dsprites"]),
        ((), []),
    ],
)
def test_the_widest_pool_makes_the_groups(
    pools: tuple[str, ...], groups: list[str], full: tuple[Study, Store]
) -> None:
    study = with_udr(full[0], pools=pools)
    assert list(groups_of(study, study.cells())) == groups


def test_every_group_is_compared_and_ranked(full: tuple[Study, Store]) -> None:
    study, store = full
    assert not stands(study, store)
    sweep = compared(study, store)
    assert stands(study, store) and store.parts("ranks") == GROUPS
    assert len(ranked(store)) == 2 * 6
    assert len(store.read("pairs")) == 4 * 3 + 2
    assert sweep.progress.todo["compare"] == sweep.progress.done["compare"] == 2 + 2
    assert sweep.progress.troubles == []


def test_finished_comparisons_are_not_repeated(full: tuple[Study, Store]) -> None:
    study, store = full
    compared(study, store)
    before = times(store), times(store, "ranks")
    workers = Inline()
    sweep = compared(study, store, workers)
    assert workers.called == []
    assert (times(store), times(store, "ranks")) == before
    assert sweep.progress.todo["compare"] == sweep.progress.done["compare"] == 2


def test_checking_that_all_is_ranked_opens_one_file_per_group(
    full: tuple[Study, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store = full
    compared(study, store)
    surveyed = survey(study, store)
    opened = []
    real = Store.read_bytes
    monkeypatch.setattr(
        Store, "read_bytes", lambda self, *names: (opened.append(names), real(self, *names))[1]
    )
    assert all_ranked(study, store, surveyed)
    assert opened == [("tables", "ranks", f"{group}.parquet") for group in GROUPS]


def test_a_lost_part_is_computed_again(full: tuple[Study, Store]) -> None:
    study, store = full
    compared(study, store)
    before = ranked(store), store.read("pairs")
    store.remove_part("pairs", store.parts("pairs")[1])
    assert not stands(study, store)
    compared(study, store)
    assert (ranked(store), store.read("pairs")) == before


def test_pools_and_similarities_may_be_added_and_removed(full: tuple[Study, Store]) -> None:
    study, store = full
    compared(study, store)
    narrow, times_before = ranked(store), times(store)
    wide = with_udr(study, pools=("cell", "method", "data"), similarities=("lasso", "spearman"))
    assert not stands(wide, store)
    compared(wide, store)
    assert stands(wide, store) and store.parts("ranks") == ["dsprites"]
    assert {name: times(store)[name] for name in times_before} == times_before
    udr_of = ranked(store)
    assert len(udr_of) == 2 * 3 * 6
    assert {key: udr_of[key] for key in narrow} == narrow
    workers = Inline()
    assert not stands(study, store)
    compared(study, store, workers)
    assert stands(study, store) and store.parts("ranks") == GROUPS
    assert ranked(store) == narrow
    assert workers.functions == ["rank", "rank"], "the pairs were there"


def old_layout(study: Study, store: Store) -> None:
    """Pairs as they were once kept, one part per group."""
    compared(study, store)
    for group in GROUPS:
        keys = [k for k in store.parts("pairs") if k.startswith(f"lasso~{group}")]
        store.write_part("pairs", group, store.read("pairs", keys=keys), "older")
        store.write_part("ranks", group, store.read("ranks", keys=[group]), "older")
        for key in keys:
            store.remove_part("pairs", key)


def test_pairs_of_the_older_layout_are_replaced(full: tuple[Study, Store]) -> None:
    study, store = full
    old_layout(study, store)
    before = ranked(store)
    assert store.parts("pairs") == GROUPS and not stands(study, store)
    compared(study, store)
    assert ranked(store) == before and stands(study, store)
    assert len(store.parts("pairs")) == 4 and not set(store.parts("pairs")) & set(GROUPS)


def test_older_parts_are_removed_only_after_all_newer_parts_are_written(
    full: tuple[Study, Store],
) -> None:
    study, store = full
    old_layout(study, store)

    def fails(uri: str, study: Study, group: str, *rest: Any) -> list[str]:
        if group == GROUPS[1]:
            raise MemoryError("out of\nmemory")
        return worker.compare(uri, study, group, *rest)

    calls = SimpleNamespace(**{**vars(worker), "compare": fails})
    sweep = StudyRun(study, store, survey(study, store), calls=calls)
    for group in sweep.groups:
        sweep.compare(Inline(), group)  # type: ignore[arg-type]
    assert sweep.progress.troubles == ["dsprites-factor_vae is not compared: MemoryError: memory"]
    assert set(GROUPS) < set(store.parts("pairs"))
    assert sweep.progress.todo["compare"] == sweep.progress.done["compare"]
    assert not stands(study, store)
    compared(study, store)
    assert not set(GROUPS) & set(store.parts("pairs"))


@pytest.mark.parametrize(
    ("table", "part"),
    [("pairs", GROUPS[0]), ("ranks", "dsprites"), ("ranks", "dsprites-beta_vae-1")],
)
def test_killed_before_older_parts_were_removed(
    table: str, part: str, full: tuple[Study, Store]
) -> None:
    study, store = full
    compared(study, store)
    store.write_part(table, part, store.read(table), "older")
    assert not stands(study, store)
    compared(study, store)
    assert stands(study, store) and not store.has_part(table, part)


def test_a_lost_representation_is_named_each_time_and_the_others_are_ranked(
    full: tuple[Study, Store],
) -> None:
    study, store = full
    lost = models_of(study)[1]
    representation = store.read("representations", keys=[lost.id])
    store.remove_part("representations", lost.id)
    for _ in range(2):
        sweep = compared(study, store)
        assert sweep.progress.troubles == [
            f"{lost.id} has no rank: its representation is lost or damaged"
        ]
        assert {model_id for model_id, *_ in ranked(store)} == {
            model.id for model in models_of(study) if model.id != lost.id
        }
        assert not stands(study, store), "it is looked for again"
    store.write_part("representations", lost.id, representation)
    compared(study, store)
    assert stands(study, store) and len(ranked(store)) == 12


def test_another_model_replaces_a_lost_one_among_the_first_seeds(tmp_path: Path) -> None:
    pools = {"pools": ["method"], "seeds_per_cell": 2}
    study, store = made_up(tmp_path, seeds=3, methods={"beta_vae": [1, 4]}, udr=pools)
    models = models_of(study)
    train(store, models)
    store.remove_part("representations", models[0].id)
    sweep = compared(study, store)
    assert len(sweep.progress.troubles) == 1
    first = [model for model in models if (model.strength, model.seed) != (4, 2)]
    assert {i for i, *_ in ranked(store)} == {model.id for model in first} - {models[0].id}


def test_a_group_without_models_is_skipped(tmp_path: Path) -> None:
    study, store = made_up(tmp_path)
    sweep = compared(study, store)
    assert sweep.progress.troubles == [] and store.parts("ranks") == []
    assert stands(study, store)
