"""Exported files hold the images asked for, in that order, and are whole or absent."""

import io
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import tasks.export
from data import own
from data.base.protocol import Grid
from data.own import OwnDataSet, OwnFiles
from infra.errors import WrongInput
from tasks.export import contact_sheet, read_rows, write_images


@dataclass(frozen=True)
class Levels(Grid):
    """A grid of 2 x 3 x 5 grey images, each of the level of its place."""

    def images(self, factors, stream):
        levels = self.order(factors).astype(np.float32) / 255
        return np.ones((1, self.channels, 64, 64), np.float32) * levels[:, None, None, None]


@pytest.fixture
def levels() -> Levels:
    return Levels("levels", "user", 3, ("a", "b", "c"), (2, 3, 5))


@pytest.fixture
def draws() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("block", [7, 4096])
def test_the_whole_grid_in_its_order(levels, draws, tmp_path, monkeypatch, block):
    monkeypatch.setattr(tasks.export, "BLOCK", block)
    progress: list[float] = []
    assert write_images(tmp_path / "all.npz", levels, None, draws, progress.append) == 30
    with np.load(tmp_path / "all.npz", allow_pickle=False) as exported:
        assert exported["images"].dtype == np.uint8
        assert exported["images"].shape == (30, 64, 64, 3)
        assert exported["images"][:, 5, 6, 1].tolist() == list(range(30))
        assert exported["factors"].tolist() == [
            [a, b, c] for a in range(2) for b in range(3) for c in range(5)
        ]
        assert exported["factor_names"].tolist() == ["a", "b", "c"]
    assert progress == sorted(progress) and progress[-1] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["all.npz"]


@given(places=st.lists(st.integers(0, 29), min_size=1, max_size=40))
def test_rows_are_places_or_factor_values(places, tmp_path_factory):
    levels = Levels("levels", "user", 1, ("a", "b", "c"), (2, 3, 5))
    file = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(file, np.array(places))
    as_places = read_rows(file, levels)
    np.save(file, as_places.astype(np.int8))
    assert np.array_equal(read_rows(file, levels), as_places)
    assert levels.order(as_places).tolist() == places


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([[0, 0, 5]]), "--rows, c: found 5 in row 0; accepted: 0 to 4"),
        (np.array([[0, 0, 0], [-1, 0, 0]]), "--rows, a: found -1 in row 1"),
        (np.array([0, 30]), "--rows: found 30 in row 1; accepted: 0 to 29"),
        (np.array([[0, 0]]), "2 columns; accepted: 3 columns: a, b, c"),
        (np.array([0.5]), "float64"),
        (np.zeros(0, int), "n ≥ 1"),
        (np.zeros((0, 3), int), "n ≥ 1"),
        (np.zeros((1, 1, 3), int), "shape"),
        (np.array([{"a": 1}], dtype=object), "an .npy file of whole numbers"),
    ],
)
def test_wrong_rows_are_one_clear_line(levels, tmp_path, rows, message):
    np.save(tmp_path / "rows.npy", rows, allow_pickle=True)
    with pytest.raises(WrongInput) as error:
        read_rows(tmp_path / "rows.npy", levels)
    assert message in str(error.value)


def test_nothing_is_overwritten_and_nothing_half_written_stays(
    levels, draws, tmp_path, monkeypatch
):
    target = tmp_path / "mine.npz"
    target.write_bytes(b"mine")
    with pytest.raises(WrongInput, match="does not exist yet"):
        write_images(target, levels, None, draws)
    assert target.read_bytes() == b"mine"
    with pytest.raises(WrongInput, match="whose folder does not exist"):
        write_images(tmp_path / "no" / "folder.npz", levels, None, draws)

    def stop(done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_images(tmp_path / "half.npz", levels, None, draws, stop)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]


def test_a_sheet_shows_rows_or_random_images(levels, draws):
    rows = np.array([[1, 2, 4], [0, 0, 1]])
    sheet = np.asarray(Image.open(io.BytesIO(contact_sheet(levels, rows, draws))))
    assert sheet.shape == (64, 10 * 66 - 2, 3)
    assert sheet[10, 10].tolist() == [29] * 3 and sheet[10, 76].tolist() == [1] * 3
    assert sheet[10, 140].tolist() == [255] * 3, "the rest is blank"
    random = np.asarray(Image.open(io.BytesIO(contact_sheet(levels, None, draws))))
    assert random.shape == (6 * 66 - 2, 10 * 66 - 2, 3)


@pytest.fixture
def own_images(tmp_path) -> OwnDataSet:
    """Seven grey pictures, each of the level of its number, with a factor and an angle."""
    images = np.broadcast_to(np.arange(7, dtype=np.uint8)[:, None, None], (7, 64, 64))
    table = np.column_stack([np.arange(7) % 2, np.arange(7) / 10])
    kinds = ["discrete", "continuous"]
    np.savez(tmp_path / "own.npz", images=images, factors=table, factor_kinds=kinds)
    return own.load("mine", OwnFiles(str(tmp_path / "own.npz")), tmp_path / "cache")


def test_own_pictures_are_exported_by_their_numbers(own_images, draws, tmp_path):
    assert write_images(tmp_path / "all.npz", own_images, None, draws) == 7
    with np.load(tmp_path / "all.npz") as exported:
        assert exported["images"][:, 5, 6, 0].tolist() == list(range(7))
        assert exported["factors"].tolist() == [[i % 2, i / 10] for i in range(7)]
    np.save(tmp_path / "rows.npy", [6, 2, 2])
    rows = read_rows(tmp_path / "rows.npy", own_images)
    assert write_images(tmp_path / "some.npz", own_images, rows, draws) == 3
    with np.load(tmp_path / "some.npz") as exported:
        assert exported["images"][:, 5, 6, 0].tolist() == [6, 2, 2]
    sheet = np.asarray(Image.open(io.BytesIO(contact_sheet(own_images, None, draws))))
    assert sheet[10, 10::66].tolist() == [*range(7), 255, 255, 255], "each once, in their order"
    for wrong, message in ((np.array([7]), "0 to 6"), (np.array([[0, 0]]), r"shape \(n,\)")):
        np.save(tmp_path / "rows.npy", wrong)
        with pytest.raises(WrongInput, match=message):
            read_rows(tmp_path / "rows.npy", own_images)


def test_exported_pictures_without_factors_can_be_used_again(draws, tmp_path):
    np.save(tmp_path / "own.npy", np.zeros((2, 64, 64), np.uint8))
    plain = own.load("mine", OwnFiles(str(tmp_path / "own.npy")), tmp_path / "cache")
    write_images(tmp_path / "all.npz", plain, None, draws)
    again = own.load("mine", OwnFiles(str(tmp_path / "all.npz")), tmp_path / "cache")
    assert again.content == plain.content


def test_rows_of_another_kind_of_file_are_one_line(levels, tmp_path):
    np.savez(tmp_path / "rows.npz", rows=np.array([0, 1]))
    (tmp_path / "rows.yaml").write_text("name: smoke\n")
    for name, reason in (("rows.npz", "an .npz file"), ("rows.yaml", "not written by numpy")):
        with pytest.raises(WrongInput, match=f"--rows: found .*{name} .*{reason}") as refused:
            read_rows(tmp_path / name, levels)
        assert "pickle" not in str(refused.value)
