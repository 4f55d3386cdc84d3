"""Which source a data set of a study has, and that what was settled is what is loaded."""

import numpy as np
import pytest

import data
from infra.errors import WrongInput
from tasks import data_sets
from tasks.study.data_choice import DataChoice, ReadFacts
from tasks.study.sources import with_source


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "data"))
    for function in (data_sets.load, data_sets.load_own, data_sets.probe_of):
        function.cache_clear()
    return tmp_path / "data"


@pytest.fixture
def own(tmp_path) -> DataChoice:
    draws = np.random.default_rng(0)
    images = draws.integers(0, 256, size=(12, 64, 64, 3), dtype=np.uint8)
    factors = np.stack([np.arange(12) % 3, np.arange(12) % 2], axis=1)
    np.savez(tmp_path / "mine.npz", images=images, factors=factors)
    return DataChoice(name="mine", images=str(tmp_path / "mine.npz"))


@pytest.mark.parametrize("name", data.DATA_SETS)
def test_without_any_file_the_error_names_what_to_do(name, cache):
    free = [s for s in data.sources(name) if s not in data.published_files(name)]
    if "redrawn" in free:
        assert with_source(DataChoice(name=name), ("redrawn",)).source == "redrawn"
        return
    with pytest.raises(WrongInput) as error:
        with_source(DataChoice(name=name), ("redrawn", "official"))
    has_file = bool(data.published_files(name))
    assert (f"tolstoy data fetch {name}" in error.value.accepted) == has_file
    assert ("look-alike" in error.value.accepted) == ("look-alike" in free)
    assert str(cache) in str(error.value)


@pytest.mark.parametrize("name", data.DATA_SETS)
def test_every_source_that_needs_no_file_is_taken(name):
    free = [s for s in data.sources(name) if s not in data.published_files(name)]
    assert free or name.startswith("mpi3d"), "of these there is no look-alike"
    for source in free:
        settled = with_source(DataChoice(name=name, source=source), ())
        assert settled.source == source


def test_own_data_are_identified_by_their_content(own, tmp_path):
    settled = with_source(own, ())
    assert settled.source == "user" and len(settled.content) == 16
    assert settled.read == ReadFacts(
        pictures=12, channels=3, factors=(("factor_0", 3), ("factor_1", 2))
    )
    assert with_source(settled, ()) == settled
    images_of = data_sets.load(settled)
    assert images_of.factor_sizes == (3, 2) and images_of.content == settled.content
    with np.load(own.images) as old:
        images, factors = old["images"], old["factors"]
    images[3, 0, 0, 0] ^= 1
    np.savez(own.images, images=images, factors=factors)
    with pytest.raises(WrongInput, match="mine, content"):
        with_source(settled, ())
    data_sets.load.cache_clear()
    with pytest.raises(WrongInput, match="mine, content"):
        data_sets.load(settled)


@pytest.mark.parametrize(
    ("keep", "read", "found"),
    [
        (11, True, "12 pictures when the study first ran, 11 now"),
        (12, True, "other factors than when the study first ran"),
        (12, False, "pictures or factors of which some have changed since the study first ran"),
    ],
)
def test_what_has_changed_in_own_data_is_said(own, keep, read, found):
    settled = with_source(own, ())
    with np.load(own.images) as old:
        images, factors = old["images"][:keep], old["factors"][:keep, :1]
    np.savez(own.images, images=images, factors=factors)
    if not read:  # a study of an older version
        settled = settled.model_copy(update={"read": None})
    with pytest.raises(WrongInput) as error:
        with_source(settled, ())
    assert str(error.value) == (
        f"data mine, content: found {found}; accepted: the files as they were, or another --store "
        "for a study of these"
    )


def test_factors_that_become_real_numbers_are_those_of_another_study(own):
    settled = with_source(own, ())
    with np.load(own.images) as old:
        arrays = dict(old)
    np.savez(own.images, **arrays, factor_kinds=np.array(["continuous", "discrete"]))
    with pytest.raises(WrongInput, match=r"mine, factor_kinds: found other factors"):
        with_source(settled, ())


def test_places_of_own_data_do_not_depend_on_the_current_folder(own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relative = own.model_copy(update={"images": "mine.npz"})
    assert with_source(relative, ()).images == own.images


def test_the_probe_is_the_same_everywhere(own):
    settled = with_source(own, ())
    first = data_sets.probe_of(settled, 7).images[:]
    data_sets.probe_of.cache_clear()
    assert first.shape == (7, 3, 64, 64)
    assert np.array_equal(first, data_sets.probe_of(settled, 7).images[:])
