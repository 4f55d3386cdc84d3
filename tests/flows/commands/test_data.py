"""`tolstoy data` as people and programs meet it, on a cache of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import data
from data import dsprites
from data.official.published import Published, StepProgress
from flows.cli import main
from flows.commands.data import data_app
from infra.errors import WrongInput

SCAN = (352, 448)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds dSprites and nothing else."""
    folder = tmp_path_factory.mktemp("data")
    dsprites.load(folder)
    return folder


@pytest.fixture(autouse=True)
def default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another cache in the environment, which --data-dir overrides and leaves as it is."""
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "default"))
    return tmp_path / "default"


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "commands.md").read_text(encoding="utf-8")
    for command in (name for name in data_app if not name.startswith("-")):
        assert main(["data", command, "--help"]) == 0
        help_text = " ".join(capsys.readouterr().out.split())
        assert f"Example: tolstoy data {command}" in help_text
        assert f"tolstoy data {command}" in page


def test_list_shows_every_data_set(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--data-dir", str(cache), "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == list(data.DATA_SETS)
    assert rows["dsprites"]["images"] == 737_280
    assert rows["dsprites"]["sources"] == {"redrawn": True, "official": False}
    assert rows["dsprites"]["bytes"] == (cache / dsprites.FILE).stat().st_size
    assert rows["dsprites"]["files"] == [dsprites.FILE]
    assert rows["smallnorb"]["images"] == 48_600
    assert rows["cars3d"]["factors"][0] == {"name": "elevation", "size": 4}
    assert rows["cars3d"]["sources"] == {"official": False, "look-alike": True}
    assert rows["cars3d"]["bytes"] == 0
    assert main(["data", "list", "--data-dir", str(cache)]) == 0
    table = capsys.readouterr().out
    assert "official (fetch)" in table and "377 MB" in table and str(cache) in table


def test_check_finds_damage(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "check", "--data-dir", str(cache)]) == 0
    assert f"whole    {dsprites.FILE}" in capsys.readouterr().out
    content = bytearray((cache / dsprites.FILE).read_bytes())
    content[77_777] ^= 1
    (tmp_path / dsprites.FILE).write_bytes(content)
    assert main(["data", "check", "--data-dir", str(tmp_path)]) == 1
    assert f"DAMAGED  {dsprites.FILE}" in capsys.readouterr().out
    assert main(["data", "check", "--data-dir", str(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {dsprites.FILE: False}


def test_fetch_takes_what_the_user_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scan = np.random.default_rng(0).integers(0, 256, size=(448, 352, 3), dtype=np.uint8)
    Image.fromarray(scan).save(tmp_path / "scream.png")
    place = ["--data-dir", str(tmp_path / "cache")]
    arguments = ["data", "fetch", "scream_dsprites", "--from", str(tmp_path / "scream.png"), *place]
    assert main(arguments) == 0
    assert "redrawn file is ready" in capsys.readouterr().out
    assert main(["data", "list", "--json", *place]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["scream_dsprites"]["sources"]["redrawn"] is True
    assert main(arguments) == 0, "a second time there is nothing to do"


def test_fetching_all_continues_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []

    def fetch(self: Published, cache: Path, progress: StepProgress) -> None:
        tried.append(self.ready)
        raise WrongInput("download", self.ready, "a network")

    monkeypatch.setattr(Published, "fetch", fetch)
    assert main(["data", "fetch", "--all", "--data-dir", str(tmp_path)]) == 2
    published = [file for name in data.DATA_SETS for file in data.published_files(name).values()]
    assert tried == [file.ready for file in published]
    assert capsys.readouterr().err.count("a network") == len(published)


def test_export_writes_what_was_asked_for(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = np.array([[0, 1, 2, 3, 4], [2, 5, 39, 31, 31]])
    np.save(tmp_path / "rows.npy", rows)
    out, sheet = tmp_path / "some.npz", tmp_path / "some.png"
    arguments = ["--rows", str(tmp_path / "rows.npy"), "--out", str(out), "--sheet", str(sheet)]
    assert main(["data", "export", "dsprites", *arguments, "--data-dir", str(cache)]) == 0
    expected = dsprites.load(cache).images(rows, np.random.default_rng(0))
    with np.load(out, allow_pickle=False) as exported:
        assert np.array_equal(exported["images"][..., 0], 255 * expected[:, 0])
        assert np.array_equal(exported["factors"], rows)
    assert Image.open(sheet).size == (658, 64)
    assert "2 images of dsprites (redrawn)" in capsys.readouterr().out


def test_noise_follows_the_seed(cache: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.arange(3))
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        rows = ["--rows", str(tmp_path / "rows.npy"), "--seed", str(seed)]
        out = ["--out", str(tmp_path / f"{name}.npz"), "--data-dir", str(cache)]
        assert main(["data", "export", "noisy_dsprites", *rows, *out]) == 0
    a, b, c = (np.load(tmp_path / f"{name}.npz")["images"] for name in "abc")
    assert np.array_equal(a, b) and not np.array_equal(a, c)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["fetch"], ["NAME", "nothing", "--all"]),
        (["fetch", "dsprite"], ["dsprite", "did you mean dsprites?"]),
        (["fetch", "color_dsprites"], ["color_dsprites", "needs no file"]),
        (["fetch", "cars3d", "--from", "nowhere"], ["nowhere", "nothing there"]),
        (["fetch", "--all", "--from", "x"], ["--from"]),
        (["fetch", "cars3d", "--all"], ["cars3d", "--all"]),
        (["export", "dsprites"], ["nothing to write", "--sheet"]),
        (["export", "dsprites", "--out", "x.npz"], ["no rows", "--all"]),
        (["export", "cars3d", "--source", "redrawn", "--sheet", "x"], ["redrawn", "look-alike"]),
        (["export", "mpi3d_toy", "--sheet", "x.png"], ["mpi3d_toy", "fetch mpi3d_toy"]),
        (["lst"], ["lst"]),
    ],
)
def test_wrong_input_is_one_line_that_names_it(
    arguments: list[str],
    names: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["data", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert all(name in err for name in names), err
    assert not list(tmp_path.glob("x*"))
