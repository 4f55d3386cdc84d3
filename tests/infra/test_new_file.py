"""A file is written whole or not at all, and a command replaces no file of its user."""

import errno
from pathlib import Path

import pytest

from infra.errors import WrongInput
from infra.new_file import PICTURES, new_file, writing_new, written_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_gets_its_name_when_it_is_whole(tmp_path):
    with written_whole(tmp_path / "scores.parquet") as partial:
        partial.write_text("new")
        assert partial.suffix == ".parquet"
        assert names(tmp_path) == [partial.name]
    assert (tmp_path / "scores.parquet").read_text() == "new"
    assert names(tmp_path) == ["scores.parquet"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_a_failed_write_the_old_file_remains(tmp_path, error):
    (tmp_path / "file").write_text("old")
    with pytest.raises(error), written_whole(tmp_path / "file", tmp_path / "part") as partial:
        partial.write_text("ha")
        assert names(tmp_path) == ["file", "part"]
        raise error
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_new_file_replaces_nothing(tmp_path):
    free, mine = tmp_path / "free.png", tmp_path / "mine.png"
    assert new_file(free, "--out", PICTURES) == free
    mine.write_text("mine")
    with pytest.raises(WrongInput, match=r"--out: found '.*mine.png'; .*does not exist yet"):
        new_file(mine, "--out", PICTURES)
    with (
        pytest.raises(WrongInput, match="does not exist yet"),
        writing_new(mine, "--out", PICTURES),
    ):
        pytest.fail("it must not be written")
    assert mine.read_text() == "mine"
    (tmp_path / "dangling.png").symlink_to(tmp_path / "nowhere")
    with pytest.raises(WrongInput, match="does not exist yet"):
        new_file(tmp_path / "dangling.png", "--out", PICTURES)


@pytest.mark.parametrize("name", ["x.txt", "x", "x.png.txt"])
def test_an_ending_that_does_not_fit_is_refused(tmp_path, name):
    with pytest.raises(WrongInput, match=r"a name that ends in \.png or \.svg or \.pdf"):
        new_file(tmp_path / name, "--plot", PICTURES)
    assert new_file(tmp_path / "X.PNG", "--plot", PICTURES)


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(WrongInput, match=r"--out: found .*; accepted: a shorter name"):
        new_file(tmp_path / f"{300 * 'a'}.png", "--out", PICTURES)


def test_a_folder_that_cannot_take_it_is_named_before_the_work(tmp_path, monkeypatch):
    with pytest.raises(WrongInput, match=r"--out: found .*whose folder does not exist"):
        new_file(tmp_path / "no" / "x.png", "--out", PICTURES)
    (tmp_path / "file").touch()
    with pytest.raises(WrongInput, match=r"--out: found .*whose folder does not exist"):
        new_file(tmp_path / "file" / "x.png", "--out", PICTURES)
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(WrongInput, match=r"--out: found .*whose folder is read-only"):
        new_file(tmp_path / "x.png", "--out", PICTURES)


def test_an_error_of_the_disk_names_the_option(tmp_path):
    with (
        pytest.raises(WrongInput, match=r"--out: found .*No space left.*a place with room"),
        writing_new(tmp_path / "file.png", "--out", PICTURES),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []
    with writing_new(tmp_path / "file.png", "--out", PICTURES) as partial:
        partial.write_text("new")
    assert names(tmp_path) == ["file.png"]
