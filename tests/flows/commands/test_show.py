"""`tolstoy show`: what the store knows of one model, and its pictures as files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from flows.cli import main
from flows.commands.show import NAMED
from infra.store import Store
from tests.flows.conftest import MODELS, TINY


@pytest.fixture
def row(undisturbed: Path) -> dict[str, Any]:
    return Store(undisturbed).read("models").to_pylist()[-1]


def test_show_prints_all_of_a_model_and_writes_its_pictures(
    undisturbed: Path, row: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--store", str(undisturbed), "--out", str(tmp_path / "out")]
    assert main(["show", row["model_id"][:8], *place, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    for name in ("model_id", "status", "elbo", "kl_per_latent", "seconds", "reconstruction"):
        assert facts[name] == row[name]
    assert facts["steps_per_second"] == pytest.approx(row["steps"] / row["seconds"])
    assert set(facts["scores"]) == set(TINY["metrics"]["names"])
    assert {rank["pool"] for rank in facts["ranks"]} == {"cell", "method"}
    pictures = Store(undisturbed).read("pictures").to_pylist()
    for picture in pictures:
        if picture["model_id"] == row["model_id"]:
            written = (tmp_path / "out" / f"{picture['kind']}.png").read_bytes()
            assert written == picture["png"]
    assert main(["show", row["model_id"], *place]) == 0, "again, over the same pictures"
    text = capsys.readouterr().out
    by_kl = np.argsort(-np.array(row["kl_per_latent"]), kind="stable")
    lines = [line.split()[1] for line in text.splitlines() if line.startswith("kl ")]
    assert lines == [str(latent) for latent in by_kl]


def test_the_moving_traversal_shows_what_the_still_one_does(
    undisturbed: Path, row: dict[str, Any], tmp_path: Path
) -> None:
    place = ["--store", str(undisturbed), "--out", str(tmp_path)]
    assert main(["show", row["model_id"], *place, "--gif"]) == 0
    still = np.asarray(Image.open(tmp_path / "traversal.png")).astype(int)
    moving = Image.open(io.BytesIO((tmp_path / "traversal.gif").read_bytes()))
    assert moving.n_frames == 30 and moving.size == (5 * 66 - 2, 2 * 66 - 2)
    for frame, column in ((0, 0), (15, 8)):  # both ends are in both; the still one has 16 levels
        moving.seek(frame)
        levels = np.asarray(moving.convert("L")).astype(int)
        for latent in range(10):
            y, x = 66 * (latent // 5), 66 * (latent % 5)
            tile = still[66 * latent : 66 * latent + 64, 66 * column : 66 * column + 64]
            assert np.abs(levels[y : y + 64, x : x + 64] - tile).mean() < 8


@pytest.mark.parametrize("start", ["zzz", ""])
def test_an_unknown_model_is_one_line(
    start: str, undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", start, "--store", str(undisturbed), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "MODEL_ID" in err and str(undisturbed) in err
    assert not (tmp_path / "out").exists()


def test_what_begins_several_ids_is_quoted(
    undisturbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "", "--store", str(undisturbed)]) == 2
    err = capsys.readouterr().err
    assert "found '', which begins " in err and f" and {MODELS - NAMED} more; accepted" in err


def test_another_file_in_its_place_is_kept(
    undisturbed: Path, row: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "traversal.png").write_bytes(b"mine")
    arguments = ["show", row["model_id"], "--store", str(undisturbed), "--out", str(tmp_path)]
    assert main(arguments) == 2
    assert "traversal.png" in capsys.readouterr().err
    assert (tmp_path / "traversal.png").read_bytes() == b"mine"
