"""A file is written whole or not at all, and a command replaces no file of its user."""

from pathlib import Path

import pytest

from infra.errors import WrongInput
from infra.new_file import new_file, writing_new, written_whole


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
    assert new_file(tmp_path / "free", "--out") == tmp_path / "free"
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(WrongInput, match=r"--out: found '.*mine'; .*does not exist yet"):
        new_file(tmp_path / "mine", "--out")
    with (
        pytest.raises(WrongInput, match="does not exist yet"),
        writing_new(tmp_path / "mine", "--out"),
    ):
        pytest.fail("it must not be written")
    assert (tmp_path / "mine").read_text() == "mine"


def test_an_error_of_the_disk_names_the_option(tmp_path):
    with (
        pytest.raises(WrongInput, match=r"--out: found .*No such file.*a place with room"),
        writing_new(tmp_path / "no" / "file", "--out") as partial,
    ):
        partial.write_text("")
    with writing_new(tmp_path / "file", "--out") as partial:
        partial.write_text("new")
    assert names(tmp_path) == ["file"]
