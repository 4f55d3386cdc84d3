"""What a run advises to type next fits the study, and works."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from flows.cli import main
from flows.commands.next_steps import next_steps
from infra.store import Store
from tasks.study.model import Model
from tasks.study.spec import Study
from tasks.study.survey import survey
from tests.flows.trained import compared, made_up, models_of, train


def steps(study: Study, store: Store) -> list[list[str]]:
    head, *lines = next_steps(study, store, survey(study, store)).splitlines()
    assert head == "Next:"
    return [shlex.split(line, comments=True)[1:] for line in lines]


def model_of(study: Study, steps: Sequence[Sequence[str]]) -> Model:
    (model_id,) = (step[1] for step in steps if step[0] == "show")
    return next(model for model in models_of(study) if model.id == model_id)


def test_the_best_model_is_that_of_the_ranking(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store", seeds=3)
    train(store, models_of(study))
    compared(study, store)
    found = steps(study, store)
    assert [step[0] for step in found] == ["rank", "show", "cite", "report"]
    ranks = [row for row in store.read("ranks").to_pylist() if row["pool"] == "method"]
    assert model_of(study, found).id == max(ranks, key=lambda row: row["udr"])["model_id"]
    assert "# the best model by UDR of dSprites" in next_steps(study, store, survey(study, store))


@pytest.mark.parametrize(("metric", "strength"), [("mig", 10), ("jemmig", 1)])
def test_without_a_ranking_the_first_score_decides(
    metric: str, strength: float, tmp_path: Path
) -> None:
    """The made-up scores rise with the strength and the seed; less JEMMIG is better."""
    study, store = made_up(tmp_path / "store", udr={"pools": []}, metrics=["unsupervised", metric])
    train(store, models_of(study))
    for part in store.parts("scores"):
        rows = store.read("scores", keys=[part])
        names = rows.column_names.index("metric")
        store.write_part("scores", part, rows.set_column(names, "metric", [[metric] * len(rows)]))
    model = model_of(study, steps(study, store))
    assert (model.strength, model.seed) == (strength, 1 if metric == "mig" else 0)


def test_one_model_is_not_ranked_and_is_named_without_scores(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store", methods={"beta_vae": [4]}, seeds=1, metrics=[])
    train(store, models_of(study))
    found = steps(study, store)
    assert [step[0] for step in found] == ["show", "cite", "report"]
    assert model_of(study, found) == models_of(study)[0]


def test_a_ranking_without_comparisons_names_no_best_model(tmp_path: Path) -> None:
    """A collapsed model has UDR 0 though it was compared with none."""
    study, store = made_up(
        tmp_path / "store", methods={"beta_vae": [4]}, seeds=1, metrics=[], udr={"pools": ["cell"]}
    )
    train(store, models_of(study), kl=(0.0, 0.0, 0.0))
    compared(study, store)
    (row,) = store.read("ranks").to_pylist()
    assert (row["udr"], row["comparisons"]) == (0.0, 0)
    assert "UDR" not in next_steps(study, store, survey(study, store))


def test_where_nothing_was_trained_the_status_is_next(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store")
    assert [step[0] for step in steps(study, store)] == ["status"]


def test_what_is_advised_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study, store = made_up(tmp_path / "a store", seeds=2)
    train(store, models_of(study))
    compared(study, store)
    for step in steps(study, store):
        assert main(step) == 0, step
