"""The first seed at three strengths, its samples of the prior, and stores without such pictures."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tasks.report.page import write_report
from tasks.report.questions import Portraits
from tasks.report.questions.prior_samples import answer
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore, without


def portraits_of(make_store: MakeStore, grid: Grid) -> Portraits:
    _, portraits = answer(read_results(make_store(grid), grid.study())).content
    assert isinstance(portraits, Portraits)
    return portraits


@pytest.mark.parametrize(
    ("strengths", "chosen"),
    [
        ((4.0,), ["β = 4"]),
        ((4.0, 1.0), ["β = 1", "β = 4"]),
        ((1.0, 2.0, 4.0), ["β = 1", "β = 2", "β = 4"]),
        ((16.0, 8.0, 4.0, 2.0), ["β = 2", "β = 4", "β = 16"]),
        ((0.1, 1.0, 4.0, 10.0, 100.0), ["β = 0.1", "β = 4", "β = 100"]),
    ],
)
def test_lowest_middle_and_highest_of_what_there_is(
    make_store: MakeStore, strengths: tuple[float, ...], chosen: list[str]
) -> None:
    grid = Grid(data=("dsprites",), methods={"beta_vae": strengths}, seeds=2, curves=False)
    (group,) = portraits_of(make_store, grid).groups
    assert [one.heading.partition(",")[0] for one in group.portraits] == chosen


def test_the_first_seed_that_was_trained_is_chosen(make_store: MakeStore) -> None:
    lost = {("dsprites", "beta_vae", 4.0, 0): "loss is not finite at step 61"}
    grid = Grid(
        data=("dsprites", "cars3d"), methods={"beta_vae": (1.0, 4.0)}, seeds=3, diverged=lost
    )
    groups = portraits_of(make_store, grid).groups
    assert ["dSprites" in group.title for group in groups] == [True, False]
    seeds = [[dict(one.facts)["seed"] for one in group.portraits] for group in groups]
    assert seeds == [["0", "1"], ["0", "0"]]


def test_the_picture_is_the_stored_one_and_on_the_page(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), methods={"beta_vae": (4.0,)}, seeds=1, curves=False)
    store = make_store(grid)
    (group,) = portraits_of(make_store, grid).groups
    (one,) = group.portraits
    assert one.samples and one.traversal is None and one.reconstruction is None
    (row,) = (row for row in store.read("pictures").to_pylist() if row["kind"] == "samples")
    stored = Image.open(io.BytesIO(row["png"])).convert("L")
    small = Image.open(io.BytesIO(one.samples.content)).convert("L")
    assert (one.samples.width, one.samples.height) == stored.size
    difference = np.asarray(small.resize(stored.size), float) - np.asarray(stored, float)
    assert np.abs(difference).mean() < 10
    folder = Path(write_report(store, grid.study(), ("pictures", "prior_samples"))).parent
    page = (folder / "questions" / "pictures.html").read_text(encoding="utf-8")
    assert f"../pictures/{one.samples.name}" in page
    assert (folder / "pictures" / one.samples.name).read_bytes() == one.samples.content


def test_a_store_of_an_older_version_says_so(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), methods={"beta_vae": (1.0, 4.0)}, seeds=2, curves=False)
    store = make_store(grid)
    for part in store.parts("pictures"):
        rows = store.read("pictures", keys=[part]).to_pylist()
        older = [row for row in rows if row["kind"] != "samples"]
        store.write_part("pictures", part, {name: [row[name] for row in older] for name in rows[0]})
    assert store.read("pictures").num_rows == 2 * 4
    assert answer(read_results(store, grid.study())).is_missing
    without("pictures")(store)
    assert answer(read_results(store, grid.study())).is_missing
