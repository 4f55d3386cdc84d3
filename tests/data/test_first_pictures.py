"""The first pictures of a data set alone: the same pictures, drawn once, in a file of their own."""

from pathlib import Path

import numpy as np
import pytest

import data
from data import teapots
from data.base import pixels
from data.base.cache import folder
from data.look_alikes import teapots as look_alike
from flows.commands.data import _listed
from infra.store import Store
from tasks import data_sets
from tasks.clean_cache import removable
from tasks.score import score_model
from tasks.study.data_choice import DataChoice
from tasks.study.reading import parse_study
from tasks.study.sources import with_sources
from tasks.train import train_model
from tests.data.teapots_of import few_teapots
from tests.data.test_teapots import file as authors_file

ROOT = Path(__file__).parents[2]
ALL, FIRST = 120, 50
LOOK_ALIKE = "look-alike"
FIRST_FILE = f"teapots-look-alike-first-{FIRST}-1.pixels"


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A cache, for a data set that has few pictures."""
    few_teapots(monkeypatch, ALL)
    return tmp_path / "cache"


def names(cache):
    return {path.name for path in cache.iterdir()}


def are_the_first(some, all_):
    assert some.pictures == len(some.pixels) == len(some.real) == len(some.factors) == FIRST
    assert np.array_equal(some.pixels, all_.pixels[:FIRST])
    assert np.array_equal(some.real, all_.real[:FIRST])
    places = np.array([FIRST - 1, 0, 7])
    assert np.array_equal(some.show(places), all_.show(places))
    assert np.array_equal(some.targets(places), all_.targets(places))
    for column, bins in zip(some.real.T, some.factors.T, strict=True):
        assert bins[column.argmin()] == 0 and bins[column.argmax()] == 9


def test_only_the_first_look_alikes_are_drawn_and_into_a_file_of_their_own(few, monkeypatch):
    done = []
    some = teapots.load(few, LOOK_ALIKE, done.append, FIRST)
    assert done[-1] == 1 and names(few) == {FIRST_FILE}
    all_ = teapots.load(few, LOOK_ALIKE)
    assert names(few) == {FIRST_FILE, teapots.LOOK_ALIKE} and len(all_.pixels) == ALL
    are_the_first(some, all_)
    monkeypatch.setattr(look_alike, "draw", lambda _: pytest.fail("drawn again"))
    (few / teapots.LOOK_ALIKE).unlink()
    are_the_first(teapots.load(few, LOOK_ALIKE, None, FIRST), all_)


def test_the_first_of_the_whole_file_are_taken_if_it_is_there(few, monkeypatch):
    all_ = teapots.load(few, LOOK_ALIKE)
    drawn = look_alike.draw
    monkeypatch.setattr(look_alike, "draw", lambda _: pytest.fail("drawn again"))
    are_the_first(teapots.load(few, LOOK_ALIKE, None, FIRST), all_)
    assert names(few) == {teapots.LOOK_ALIKE}
    monkeypatch.setattr(look_alike, "draw", drawn)
    (few / teapots.LOOK_ALIKE).unlink()
    (few / teapots.LOOK_ALIKE).write_bytes(bytes(1000))
    are_the_first(teapots.load(few, LOOK_ALIKE, None, FIRST), all_)
    assert names(few) == {teapots.LOOK_ALIKE, FIRST_FILE}, "of a damaged file nothing is taken"


def test_the_first_of_the_authors_file(few, tmp_path):
    path, images, gts = authors_file(tmp_path / "teapots.npz")
    teapots.PUBLISHED["official"].take(path, few)
    some, all_ = teapots.load(few, pictures=FIRST), teapots.load(few)
    are_the_first(some, all_)
    assert np.array_equal(some.pixels, images.transpose(0, 3, 1, 2)[:FIRST])
    assert np.array_equal(some.real, gts[:FIRST])
    assert some.content == all_.content and some.source == "official"
    assert not list(few.glob("*first*"))


def test_the_splits_are_shares_of_the_first_pictures(few):
    some = teapots.load(few, LOOK_ALIKE, None, FIRST)
    gap = teapots.gap(some.real)
    parts = some.splits()
    assert parts.train.tolist() == [row for row in range(40) if not gap[row]]
    assert parts.validation.tolist() == [row for row in range(40, 45) if not gap[row]]
    assert parts.test.tolist() == [row for row in range(45, 50) if not gap[row]]
    assert parts.zero_shot.tolist() == np.flatnonzero(gap).tolist()


@pytest.mark.parametrize("count", [teapots.FEWEST_PICTURES, 20_000, 200_000])
def test_each_split_has_its_share(count):
    """The gap is (1 - 0.15)^3 / 6 of all; the rest is 80%, 10% and 10%: within four deviations. The
    numbers of docs/data.md are these."""
    parts = vars(teapots.splits(look_alike.factors(count, teapots.LARGEST))).values()
    assert sum(map(len, parts)) == count
    gap = 0.85**3 / 6
    for rows, share in zip(parts, [*((1 - gap) * np.array([0.8, 0.1, 0.1])), gap], strict=True):
        assert abs(len(rows) - share * count) <= 4 * np.sqrt(count * share * (1 - share))
        assert len(rows) >= 90
    cells = " | ".join(f"{len(rows):,}" for rows in parts)
    assert f" | {cells} |\n" in (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


def test_the_files_are_listed_checked_and_cleaned(few):
    teapots.load(few, LOOK_ALIKE, None, FIRST)
    of_others = {"teapots-look-alike-first-x-1.pixels", "teapots-look-alike-first-9.pixels"}
    old = "teapots-look-alike-first-30-0.pixels"
    left = f"{FIRST_FILE}.lock"
    for name in (*of_others, old, left):
        (few / name).touch()
    assert data.files_in(few, "teapots") == [FIRST_FILE] == data.prepared_files(few)
    listed = _listed("teapots", few)
    assert listed["files"] == [FIRST_FILE] and listed["bytes"] > FIRST * 3 * 64 * 64
    assert pixels.is_whole(few / FIRST_FILE)
    found = {removed.files[0].name: removed.what for removed in removable(few)}
    assert found == {
        FIRST_FILE: "look-alike pictures of teapots",
        old: "look-alike pictures of teapots, of another version",
        left: "left by a process that was ended",
    }
    assert all(removed.remove() for removed in removable(few)) and names(few) == of_others


def test_what_is_in_use_stays(few):
    some = teapots.load(few, LOOK_ALIKE, None, FIRST)
    assert [removed.remove() for removed in removable(few)] == [False]
    del some
    assert [removed.remove() for removed in removable(few)] == [True]


def test_whether_something_must_be_written(few):
    def of(pictures):
        return data.is_prepared("teapots", LOOK_ALIKE, few, pictures)

    assert not of(0) and not of(FIRST)
    teapots.load(few, LOOK_ALIKE, None, FIRST)
    assert of(FIRST) and not of(FIRST + 1) and not of(0)
    teapots.load(few, LOOK_ALIKE)
    assert of(FIRST + 1) and of(0)
    assert data.is_prepared("noisy_dsprites", "redrawn", few) == (
        "redrawn" not in data.files("noisy_dsprites")
    )


def test_a_study_of_a_thousand_is_trained_and_scored(tmp_path, monkeypatch):
    """The real data set: nothing is patched but the place of the cache."""
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "data"))
    for function in (data_sets.load, data_sets.probe_of):
        function.cache_clear()
    study = with_sources(
        parse_study(
            {
                "name": "teapots",
                "data": [{"name": "teapots", "pictures": 1000}],
                "sources": ["official", LOOK_ALIKE],
                "methods": {"beta_vae": [1]},
                "seeds": 1,
                "latents": 3,
                "probe": 20,
                "training": {"steps": 10, "batch_size": 8},
                "metrics": {"names": ["dci_lasso", "sap"], "points": 200, "test_points": 100},
            }
        )
    )
    ((model,),) = (cell.models for cell in study.cells())
    store = Store(tmp_path / "store")
    assert train_model(store, study, model) == "trained"
    assert score_model(store, study, model) == "scored"
    rows = store.read("scores").to_pylist()
    headlines = {row["metric"]: row["value"] for row in rows if row["part"] == "score"}
    assert set(headlines) == {"dci_lasso", "sap"} and all(map(np.isfinite, headlines.values()))
    pictures = {path.name for path in folder().glob("*.pixels")}
    assert pictures == {"teapots-look-alike-first-1000-1.pixels"}
    loaded = data_sets.load(study.data[0])
    assert loaded.pictures == data_sets.describe(study.data[0]).pictures == 1000
    assert np.array_equal(loaded.real, look_alike.factors(1000, teapots.LARGEST))
    whole = DataChoice(name="teapots", source=LOOK_ALIKE, pictures=200_000)
    assert data_sets.describe(whole).pictures == 200_000
    for function in (data_sets.load, data_sets.probe_of):
        function.cache_clear()
