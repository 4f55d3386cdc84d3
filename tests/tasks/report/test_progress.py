"""A page that is made while a study runs says so, on every page, and is never half."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from infra.drivers.lock import driver_lock
from infra.store import Store
from tasks.report.page import write_report
from tasks.report.progress import progress
from tasks.report.results import read_results
from tasks.study.dynamics import TRACES, compared_from
from tasks.words import plural
from tests.flows.trained import made_up, models_of, train
from tests.tasks.report.conftest import Grid, MakeStore, fill_dynamics, without
from tests.tasks.report.parsed import Page, checked

GRID = Grid(data=("dsprites",), methods={"beta_vae": (1.0, 4.0)}, seeds=2, curves=False)


def text(store: Store, grid: Grid = GRID) -> str:
    return progress(read_results(store, grid.study())).text


def test_a_finished_study_says_nothing(make_store: MakeStore) -> None:
    lost = Grid(
        data=("dsprites",),
        methods={"beta_vae": (1.0, 4.0)},
        diverged={("dsprites", "beta_vae", 4.0, 1): "loss is not finite"},
        pictures=False,
    )
    assert text(make_store(lost), lost) == ""


def test_what_is_left_is_counted(make_store: MakeStore) -> None:
    store = make_store(GRID)
    assert text(store, Grid(**{**GRID.__dict__, "seeds": 60})) == "Not finished: 4 of 120 models"
    store.remove_part("scores", store.parts("scores")[0])
    assert text(store) == "Not finished: 4 of 4 models, 2 to score"
    without("ranks")(store)
    with driver_lock(store):
        assert text(store) == "In progress: 4 of 4 models, 2 to score, 4 to rank"
    assert text(store) == "Not finished: 4 of 4 models, 2 to score, 4 to rank"


def test_seeds_that_are_never_ranked_are_not_left(make_store: MakeStore) -> None:
    grid = Grid(**{**GRID.__dict__, "seeds": 3, "pools": ("method",)})
    store = make_store(grid)
    without("ranks")(store)
    assert text(store, grid) == "Not finished: 6 of 6 models, 6 to rank"
    study = grid.study()
    udr = study.udr.model_copy(update={"seeds_per_cell": 2})
    results = read_results(store, study.model_copy(update={"udr": udr}))
    assert progress(results).text == "Not finished: 6 of 6 models, 4 to rank"


def test_cells_without_dynamics_are_left(tmp_path: Path) -> None:
    study, store = made_up(tmp_path, traces={}, udr={"pools": []})
    train(store, models_of(study))
    for model in models_of(study):
        store.write_bytes(b"", "models", model.id, TRACES)
    cells = study.cells()
    said = progress(read_results(store, study)).text
    assert said == f"Not finished: 6 of 6 models; {len(cells)} cells to compare by dynamics"
    fill_dynamics(store)
    for left, cell in enumerate(cells[1:], start=1):
        source = compared_from([model.id for model in cell.models], study.dynamics)
        store.write_part("dynamics", cell.name, store.read("dynamics", keys=[cell.name]), source)
        said = progress(read_results(store, study)).text
        assert f"; {plural(len(cells) - left, 'cell')} to compare" in said


def test_every_page_says_it(make_store: MakeStore) -> None:
    store = make_store(GRID)
    more = Grid(**{**GRID.__dict__, "seeds": 5}).study()
    with driver_lock(store):
        index = Path(write_report(store, more, ("run", "best")))
    for path in index.parent.rglob("*.html"):
        words = Page.alone(path).text
        assert "In progress: 4 of 10 models." in words, path.name
        assert "tolstoy report STORE --watch renews it" in words
    write_report(store, more, ("run", "best"))
    assert "Nobody works on the study: tolstoy run with the same spec continues it." in (
        Page.alone(index).text
    )


def test_a_page_is_written_after_the_pictures_and_numbers_that_it_shows(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(Grid(data=("dsprites",), methods={"beta_vae": (1.0,)}))
    written: list[str] = []
    write = Store.write_bytes

    def spy(self: Store, data: bytes, *names: str, **more: bool) -> None:
        written.append("/".join(names[1:]))
        write(self, data, *names, **more)

    monkeypatch.setattr(Store, "write_bytes", spy)
    folder = Path(write_report(store, GRID.study(), ("run", "best", "pictures", "curves"))).parent
    assert any(name.endswith(".webp") for name in written)
    for place, name in enumerate(written):
        for _, address in Page.alone(folder / name).addresses if name.endswith("html") else ():
            target = (folder / name).parent / address.partition("#")[0]
            if target.suffix not in (".html", "") and target.is_file():
                leads_to = str(target.resolve().relative_to(folder.resolve()))
                assert leads_to in written[:place], f"{name} before {leads_to}"


@pytest.mark.parametrize("seeds", [0, 1, 2])
def test_the_first_models_make_a_page_without_warnings(make_store: MakeStore, seeds: int) -> None:
    grid = Grid(data=("dsprites",), methods={"beta_vae": (4.0,)}, seeds=seeds or 1)
    store = make_store(grid)
    if not seeds:
        without("models", "scores", "ranks", "curves", "pictures")(store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = checked(write_report(store, Grid(data=("dsprites",), seeds=30).study()))
    assert f"Not finished: {seeds} of 120 models" in page.text
    assert "<svg" not in page.html or seeds, "an empty figure"
