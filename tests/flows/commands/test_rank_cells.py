"""`tolstoy rank STORE --by dynamics`: the cells of a study, also while it runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from PIL import Image

from flows.cli import main
from infra.store import Store
from infra.tables import AXES
from metrics.dynamics import Settings, dynamics
from tasks.dynamics import score_cell
from tasks.plot_cells import lines
from tasks.rank_cells import RankedCell
from tasks.streams import stream
from tasks.study.model import Cell
from tasks.study.spec import Study
from tests.flows.conftest import tolstoy
from tests.flows.trained import made_up, models_of, train
from tests.tasks.made_models import changed
from tests.tasks.made_traces import SECTION, traces_of, write_traces

BY = ("--by", "dynamics")
CELLS = ["dsprites-beta_vae-1", "dsprites-beta_vae-4", "dsprites-factor_vae-10"]
KEYS = ["group", "method", *AXES, "strength", "dynamics", "low", "high", "models"]


@pytest.fixture
def full(tmp_path: Path) -> tuple[Study, Store]:
    """Trained models with traces, none of which are compared."""
    study, store = made_up(tmp_path / "store", seeds=3, traces=SECTION)
    train(store, models_of(study))
    write_traces(store, models_of(study))
    return study, store


def score(study: Study, store: Store) -> None:
    for cell in study.cells():
        score_cell(store, study, cell.name, cell.models)


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main(["rank", *map(str, arguments), *BY, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["rank", *map(str, arguments), *BY]) == 0
    return capsys.readouterr().out


def by_hand(cell: Cell, **changes: Any) -> Any:
    traces = [traces_of(model) for model in cell.models]
    return dynamics(traces, Settings(**changes), lambda purpose: stream("dynamics", purpose))


def test_a_store_s_cells_are_ranked_by_the_command(full: tuple[Study, Store]) -> None:
    """By its real entry point, in a process of its own."""
    study, store = full
    score(study, store)
    done = tolstoy("rank", store.root, *BY, "--json")
    assert done.returncode == 0, done.stderr
    (of_data,) = json.loads(done.stdout)["data"]
    assert [group["group"] for group in of_data["groups"]] == CELLS


def test_numbers_are_those_of_the_function_and_nothing_is_written(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = full
    result = as_json(capsys, store.root)
    assert list(result) == ["study", "store", "settings", "data"]
    assert result["settings"] == {**asdict(Settings()), "layers": None}
    (of_data,) = result["data"]
    assert list(of_data) == ["data", "groups", "without_score", "missing", "lost"]
    assert of_data["data"] == "dsprites" and of_data["missing"] == 0
    assert of_data["without_score"] == of_data["lost"] == []
    for row, cell in zip(of_data["groups"], study.cells(), strict=True):
        expected = by_hand(cell)
        assert list(row) == KEYS
        assert (row["group"], row["method"]) == (cell.name, cell.models[0].method)
        assert row["strength"] == cell.models[0].strength and row["models"] == 3
        assert row["dynamics"] == expected.score
        assert (row["low"], row["high"]) == expected.interval
    assert store.parts("dynamics") == []


def test_what_the_store_has_is_read(
    full: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study, store = full
    computed = as_json(capsys, store.root)
    score(study, store)
    with monkeypatch.context() as patched:
        patched.setattr("tasks.rank_cells.compare_cell", lambda *_: pytest.fail("computed"))
        assert as_json(capsys, store.root) == computed
    before = dict(store.listing("tables", "dynamics"))
    other = as_json(capsys, store.root, "--set", "t=3", "--set", "layers=deep")
    assert other["settings"]["t"] == 3 and other["settings"]["layers"] == ["deep"]
    assert other["data"] != computed["data"]
    assert dict(store.listing("tables", "dynamics")) == before
    part = store.read("dynamics", keys=[CELLS[2]])
    planted = part.set_column(
        part.schema.get_field_index("dynamics"),
        part.schema.field("dynamics"),
        pc.add(part["dynamics"], -9.0),
    )
    store.write_part("dynamics", CELLS[2], planted, store.part_made_from("dynamics", CELLS[2]))
    rows = as_json(capsys, store.root)["data"][0]["groups"]
    assert rows[0]["group"] == CELLS[2] and rows[0]["dynamics"] < -8


def test_a_study_is_ranked_while_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = made_up(tmp_path / "store", seeds=3, traces=SECTION)
    assert "dsprites: 0 cells ranked by training dynamics" in printed(capsys, store.root)
    trained = [model for model in models_of(study) if model.seed < 2 and model.strength != 10]
    train(store, [*trained, models_of(study)[-1]])
    write_traces(store, [*trained, models_of(study)[-1]])
    of_data = as_json(capsys, store.root)["data"][0]
    assert [(row["group"], row["models"]) for row in of_data["groups"]] == [
        (CELLS[0], 2),
        (CELLS[1], 2),
    ]
    assert of_data["without_score"] == [CELLS[2]] and of_data["missing"] == 5
    out = printed(capsys, store.root)
    assert "Two models are one pair, which has no interval." in out
    assert f"1 cell without a score, which takes two trained models with traces: {CELLS[2]}" in out


def test_the_table_has_the_most_stable_cell_first(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = full
    score(study, store)
    out = printed(capsys, store.root)
    head, *rows = [line.split() for line in out.splitlines()[:4]]
    assert head == ["rank", "method", "strength", "dynamics", "low", "high", "models"]
    assert [row[:3] for row in rows] == [
        ["1", "beta_vae", "1"],
        ["2", "beta_vae", "4"],
        ["3", "factor_vae", "10"],
    ]
    assert "dsprites: 3 cells ranked by training dynamics" in out
    assert "95 % of 2,000 draws of a cell's models." in out
    assert len(printed(capsys, store.root, "--top", 1).split("\n\n")[0].splitlines()) == 2


def test_data_sets_are_ranked_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = [{"name": name, "source": "redrawn"} for name in ("dsprites", "color_dsprites")]
    study, store = made_up(tmp_path / "store", seeds=2, data=data, traces=SECTION)
    train(store, models_of(study))
    write_traces(store, models_of(study))
    assert [row["data"] for row in as_json(capsys, store.root)["data"]] == [
        "dsprites",
        "color_dsprites",
    ]
    (only,) = as_json(capsys, store.root, "--data", "color_dsprites")["data"]
    assert all(row["group"].startswith("color_dsprites-") for row in only["groups"])
    assert "color_dsprites\n--------------" in printed(capsys, store.root)


def test_a_cell_that_cannot_be_compared_does_not_stop_the_others(
    full: tuple[Study, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = full
    odd, lost = study.cells()[0].models[1], study.cells()[1].models[2]
    write_traces(store, [odd], steps=np.arange(4))
    store.remove("models", lost.id, "traces.npz")
    assert main(["rank", store.root, *BY]) == 0
    out, err = capsys.readouterr()
    assert f"{CELLS[0]} has no score: {CELLS[0]}, traces: found other steps of {odd.id}" in err
    assert "2 cells ranked" in out and f"without readable traces: {lost.id}" in out


def test_a_picture_is_drawn(full: tuple[Study, Store], tmp_path: Path) -> None:
    _, store = full
    target = tmp_path / "cells.png"
    assert main(["rank", store.root, *BY, "--plot", str(target)]) == 0
    drawn = np.asarray(Image.open(target).convert("L"))
    assert drawn.shape[1] > 500 and (drawn < 100).mean() > 0.005


def test_lines_of_a_picture() -> None:
    cells = [
        RankedCell(changed(strength=strength, latents=latents), score, low, high, 3)
        for strength, latents, score, low, high in (
            (4.0, 3, 0.5, 0.25, 1.0),
            (1.0, 3, 0.25, None, None),
            (1.0, 8, 9.0, 8.0, 9.5),
        )
    ]
    places, scores, (below, above) = lines(cells, [1.0, 2.0, 4.0], 3)
    assert places == [0, 2] and scores == [0.25, 0.5]
    assert np.isnan([below[0], above[0]]).all()
    assert (below[1], above[1]) == (0.25, 0.5)
    assert lines(cells, [1.0, 2.0, 4.0], 8) == ([0], [9.0], [[1.0], [0.5]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--similarity", "lasso"), ["--similarity", "nothing, with --by dynamics"]),
        (("--pool", "cell"), ["--pool", "nothing, with --by dynamics"]),
        (("--p", "3"), ["--p", "nothing, with --by dynamics"]),
        (("--per-informative",), ["--per-informative", "nothing, with --by dynamics"]),
        (("--ray", "auto"), ["--ray", "nothing, with --by dynamics"]),
        (("--data", "dsprite"), ["--data: found 'dsprite'", "did you mean dsprites?"]),
        (("--set", "t=0"), ["--set t: found 0"]),
        (("--set", "snapshots=9"), ["--set snapshots: found 9", "at most 4"]),
        (("--set", "layers=top"), ["--set layers: found top, not in", "deep, shallow"]),
        (("--plot", "x.txt"), ["--plot", "a name that ends in"]),
    ],
)
def test_options_that_are_wrong(
    arguments: tuple[str, ...],
    words: list[str],
    full: tuple[Study, Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rank", full[1].root, *BY, *arguments]) == 2
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert out == "" and all(word in line for word in words), line


def test_a_store_without_traces_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, store = made_up(tmp_path / "store")
    assert main(["rank", store.root, *BY]) == 2
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert out == "" and "whose spec has no traces; accepted: a store whose spec has traces" in line
