"""One model per data set, the same each time, with its reconstructions and nothing else."""

from __future__ import annotations

from tasks.report.questions import Portraits
from tasks.report.questions.examples import answer
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore, without


def test_a_model_is_drawn_per_data_set(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites", "cars3d"), seeds=20, curves=False)
    store = make_store(grid)
    results = read_results(store, grid.study())
    ids = []
    for _ in range(2):
        _, portraits = answer(results).content
        assert isinstance(portraits, Portraits)
        assert ["dSprites" in group.title for group in portraits.groups] == [True, False]
        for group in portraits.groups:
            (one,) = group.portraits
            assert one.traversal is None and one.reconstruction
            ids.append(one.reconstruction.name.split("-")[0])
    assert ids[:2] == ids[2:]
    of_data = results.models.set_index("model_id")["data"]
    assert [of_data[model_id] for model_id in ids[:2]] == ["dsprites", "cars3d"]


def test_without_pictures_it_says_so(make_store: MakeStore) -> None:
    grid = Grid(curves=False)
    store = make_store(grid)
    without("pictures")(store)
    assert answer(read_results(store, grid.study())).is_missing
