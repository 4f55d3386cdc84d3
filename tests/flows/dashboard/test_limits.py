"""What the dashboard allows a form to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.dashboard.forms import OwnData, StudyForm
from flows.dashboard.limits import Limits
from infra.errors import WrongInput


def test_a_folder_with_links_out_of_the_allowed_one_is_refused(tmp_path: Path) -> None:
    """Reading pictures follows links: a form would show files that only the server may read."""
    allowed, private = tmp_path / "allowed", tmp_path / "private"
    (allowed / "cats/below").mkdir(parents=True)
    private.mkdir()
    (private / "x.png").write_bytes(b"private")
    limits = Limits(studies=str(tmp_path / "studies"), allow_data=str(allowed))
    form = StudyForm(own_data=[OwnData(folder="cats")])
    (allowed / "cats/again").symlink_to(allowed / "cats/below")
    assert form.study(limits).data[0].folder == str(allowed / "cats")
    for link, target in (("x.png", private / "x.png"), ("more", private), ("below/up", "../../..")):
        (allowed / "cats" / link).symlink_to(target)
        with pytest.raises(WrongInput, match=r"data cats, folder: found .*, a link out of"):
            form.study(limits)
        (allowed / "cats" / link).unlink()


@pytest.mark.parametrize("path", ["\0", "x\0y", "loop", "loop/x"])
def test_a_path_that_cannot_be_is_refused_in_one_line(path: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    limits = Limits(studies=str(tmp_path / "studies"), allow_data=str(tmp_path))
    with pytest.raises(WrongInput, match="own_data, folder: found"):
        StudyForm(own_data=[OwnData(folder=path)]).study(limits)
