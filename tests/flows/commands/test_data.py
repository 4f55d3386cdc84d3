"""`tolstoy data` as people and programs meet it, on a cache of its own."""

from __future__ import annotations

import gc
import io
import json
import re
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
from tasks import data_sets

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
    assert rows["teapots"]["factors"][0] == {"name": "azimuth", "size": None}
    assert rows["cars3d"]["sources"] == {"official": False, "look-alike": True}
    assert rows["cars3d"]["bytes"] == 0
    assert main(["data", "list", "--data-dir", str(cache)]) == 0
    table = capsys.readouterr().out
    assert "official (fetch)" in table and "377 MB" in table and str(cache) in table
    assert re.search("real × real × real × real × real +200,000", table)
    assert "real × real × 3 × real × real × real  200,000" in table


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
    ((copy,),) = rows["scream_dsprites"]["origins"].values()
    assert copy["place"] == str(tmp_path / "scream.png") and copy["checksum"].startswith("sha256:")
    assert main(["data", "check", *place]) == 0
    assert f"from {tmp_path}/scream.png, brought by hand, no checksum" in capsys.readouterr().out
    assert main(arguments) == 0, "a second time there is nothing to do"


def test_fetching_all_continues_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []

    def fetch(self: Published, cache: Path, progress: StepProgress, name: str) -> None:
        tried.append(self.ready)
        raise WrongInput("download", self.ready, "a network")

    monkeypatch.setattr(Published, "fetch", fetch)
    assert main(["data", "fetch", "--all", "--data-dir", str(tmp_path)]) == 2
    published = [file for name in data.DATA_SETS for file in data.published_files(name).values()]
    downloads = [file.ready for file in published if not file.by_hand]
    assert tried == downloads and len(downloads) < len(published)
    out, err = capsys.readouterr()
    assert err.count("a network") == len(downloads)
    assert "teapots: left out" in out and "tolstoy data fetch teapots --from teapots.npz" in out


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
        (["fetch", "teapots"], ["teapots.npz", "--from PATH", "edinburgh_teapots.zip"]),
        (["fetch", "--all", "--from", "x"], ["--from"]),
        (["fetch", "cars3d", "--all"], ["cars3d", "--all"]),
        (["export", "dsprites"], ["nothing to write", "--sheet"]),
        (["export", "dsprites", "--out", "x.npz"], ["no rows", "--all"]),
        (["export", "cars3d", "--source", "redrawn", "--sheet", "x"], ["redrawn", "look-alike"]),
        (["export", "mpi3d_toy", "--sheet", "x.png"], ["mpi3d_toy", "fetch mpi3d_toy"]),
        (["export", "nobody", "--sheet", "x.png"], ["nobody", "your own FOLDER, FILE, SPEC.yaml"]),
        (["export", "dsprites", "--factors", "x.csv", "--sheet", "x.png"], ["factors", "FOLDER"]),
        (["export", "cars3d", "--source", "official", "--sheet", "x.png"], ["fetch cars3d first"]),
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


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder called like photographs are, and one broken picture."""
    folder = tmp_path / "My Photos"
    folder.mkdir()
    for row in range(3):
        Image.new("RGB", (90 + row, 70), (9 * row, 200, 30)).save(folder / f"{row}.png")
    (folder / "notes.txt").write_text("no picture")
    (folder / "half.png").write_bytes((folder / "0.png").read_bytes()[:60])
    return folder


def test_own_pictures_are_exported_as_models_get_them(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets = [tmp_path / f"{number}.png" for number in range(3)]
    place = ["--data-dir", str(tmp_path / "cache")]
    assert main(["data", "export", str(photos), "--sheet", str(sheets[0]), *place]) == 2
    assert "half.png, which cannot be read" in capsys.readouterr().err
    assert not list((tmp_path / "cache").iterdir()), "a refused try leaves nothing"
    for option, target in (("--sheet", "x.txt"), ("--out", "x.png")):
        wrong = ["data", "export", str(photos), "--skip-broken", "--all", option, target, *place]
        assert main(wrong if option == "--out" else [w for w in wrong if w != "--all"]) == 2
        assert f"{option}: found '{target}'" in capsys.readouterr().err
        assert not list((tmp_path / "cache").iterdir()), "nothing is prepared before"
    by_folder = ["data", "export", str(photos), "--skip-broken", "--sheet", str(sheets[0])]
    assert main([*by_folder, *place]) == 0
    out, err = capsys.readouterr()
    said = f"My-Photos: 3 pictures, 3 channels, of {photos} (1 file ignored: .txt 1; 1 broken"
    assert said in err and f"{sheets[0]}: contact sheet of My-Photos (user)" in out
    sheet = np.asarray(Image.open(sheets[0]).convert("RGB"))
    assert sheet[30, 30::66].tolist()[:4] == [[9 * r, 200, 30] for r in range(3)] + [[255] * 3]
    spec = tmp_path / "study.yaml"
    text = (
        "name: n\nmethods: {beta_vae: [1]}\ndata:\n- dsprites\n- {folder: %s, skip_broken: true}\n"
    )
    spec.write_text(text % photos)
    for number, what in ((1, f"{spec}:My-Photos"), (2, f"{spec}:nobody")):
        code = main(["data", "export", what, "--sheet", str(sheets[number]), *place])
        assert code == (0 if number == 1 else 2)
    assert sheets[1].read_bytes() == sheets[0].read_bytes() and not sheets[2].exists()
    assert "NAME is dsprites, My-Photos" in capsys.readouterr().err


def test_a_folder_named_like_a_data_set_is_exported(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cars3d"
    folder.mkdir()
    (folder / "a.png").write_bytes(min(photos.glob("[0-9]*.png")).read_bytes())
    place = ["--sheet", str(tmp_path / "sheet.png"), "--data-dir", str(tmp_path / "cache")]
    assert main(["data", "export", str(folder), *place]) == 0
    assert "contact sheet of my-cars3d (user)" in capsys.readouterr().out


def test_copies_are_listed_and_cleaned(
    photos: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (photos / "half.png").unlink()
    place = ["--data-dir", str(tmp_path / "cache")]
    sheet = ["data", "export", str(photos), "--sheet"]
    assert main([*sheet, str(tmp_path / "a.png"), *place]) == 0
    (photos / "0.png").unlink()
    assert main([*sheet, str(tmp_path / "b.png"), *place]) == 0
    capsys.readouterr()
    assert main(["data", "list", *place]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if str(photos) in line]
    assert sorted(line.split()[-2] for line in lines) == ["changed", "not"], lines
    assert main(["data", "list", "--json", *place]) == 0
    listed = json.loads(capsys.readouterr().out)[len(data.DATA_SETS) :]
    assert {row["state"]: row["images"] for row in listed} == {"changed": 3, "current": 2}

    data_sets.load.cache_clear()
    data_sets.load_own.cache_clear()
    gc.collect()
    files = set((tmp_path / "cache").iterdir())
    for more in (["--dry-run", "--yes"], []):  # there is nobody who could agree
        assert main(["data", "clean", *more, *place]) == 0
        out = capsys.readouterr().out
        assert "37 kB" in out and "1 entry, 37 kB. Nothing was removed; --yes removes it." in out
        assert set((tmp_path / "cache").iterdir()) == files
    monkeypatch.setattr("flows.commands.data_clean.sys.stdin", Terminal("n\n"))
    assert main(["data", "clean", *place]) == 0
    assert set((tmp_path / "cache").iterdir()) == files
    monkeypatch.setattr("flows.commands.data_clean.sys.stdin", Terminal("yes\n"))
    assert main(["data", "clean", *place]) == 0
    assert "Removed 37 kB from" in capsys.readouterr().out
    left = {file.name for file in (tmp_path / "cache").iterdir()}
    assert left == set(next(row["files"] for row in listed if row["state"] == "current"))
    assert main(["data", "clean", "--all", "--yes", "--json", *place]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["removed"] and set(row["files"]) == left
    assert main(["data", "clean", *place]) == 0
    assert capsys.readouterr().out.startswith("Nothing to remove in ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
