"""Which cells an estimate counts as still to be compared by their training dynamics."""

from __future__ import annotations

from pathlib import Path

from flows.estimate import dynamics_left
from tasks.dynamics import score_cell
from tasks.study.survey import survey
from tests.flows.trained import made_up, models_of, train
from tests.tasks.made_traces import SECTION, write_traces


def test_cells_are_left_until_they_are_compared_as_they_are(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store", traces=SECTION)

    def left() -> list[int]:
        return dynamics_left(study, store, survey(study, store))

    cells = {cell.name: len(cell.models) for cell in study.cells()}
    assert left() == list(cells.values()), "nothing is trained yet"
    train(store, models_of(study))
    write_traces(store, models_of(study))
    assert left() == list(cells.values()), "nothing is compared yet"
    first, *others = study.cells()
    score_cell(store, study, first.name, first.models)
    assert left() == [cells[cell.name] for cell in others]
    changed = study.model_copy(update={"seeds": study.seeds + 1})
    of_more = dynamics_left(changed, store, survey(changed, store))
    assert of_more == [count + 1 for count in cells.values()], "one more model changes the group"
    without = study.model_copy(update={"traces": None})
    assert dynamics_left(without, store, survey(without, store)) == []


def test_single_models_are_never_compared(tmp_path: Path) -> None:
    study, store = made_up(tmp_path / "store", traces=SECTION, seeds=1)
    assert dynamics_left(study, store, survey(study, store)) == []
