"""`tolstoy rank FILE --by dynamics`: groups of a user's own files, ranked as by the functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from flows.cli import main
from metrics.dynamics import Settings, dynamics
from tasks.streams import stream
from tests.flows.commands.test_rank import as_json, printed

Array = np.ndarray[Any, Any]
BY = ("--by", "dynamics")
GROUPS = np.array(["own", "alike", "own", "alike", "own", "alike"])


@pytest.fixture
def traces() -> Array:
    """Three models that learn alike and three that do not, in turns."""
    draws = np.random.default_rng(0)
    made = draws.normal(size=(6, 4, 9, 5))
    made[1::2] = made[1] + 0.02 * draws.normal(size=(3, 4, 9, 5))
    return made


def by_hand(models: Any, **changed: Any) -> Any:
    return dynamics(models, Settings(**changed), lambda purpose: stream("dynamics", purpose))


def line_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The line that a command prints, and nothing else, which ends with 2."""
    assert main(["rank", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("tolstoy: ") and "; accepted: " in err
    (line,) = err.splitlines()
    return line


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_groups_are_ranked_as_by_the_function(
    ending: str, traces: Array, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"own.{ending}"
    if ending == "npz":
        np.savez(file, traces=traces, groups=GROUPS)
    else:
        with h5py.File(file, "w") as opened:
            opened["traces"], opened["groups"] = traces, GROUPS.astype("S")
    result = as_json(capsys, file, *BY, "--set", "t=3")
    rows = []
    for group, models in (("alike", traces[1::2]), ("own", traces[::2])):
        expected = by_hand(models, t=3)
        low, high = expected.interval
        row = {"group": group, "dynamics": expected.score, "low": low, "high": high, "models": 3}
        rows.append(row)
    assert result == {"groups": rows}
    assert rows[0]["dynamics"] < rows[1]["dynamics"]


def test_the_table_has_the_most_stable_group_first(
    traces: Array, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.npz"
    np.savez(file, traces=traces.astype(np.float16), groups=GROUPS)
    assert main(["rank", str(file), *BY, "--set", "draws=100"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["rank", "group", "dynamics", "low", "high", "models"]
    assert [line.split()[:2] for line in lines[1:3]] == [["1", "alike"], ["2", "own"]]
    assert "lower is more stable" in out and "95 % of 100 draws" in out
    assert [line for line in err.splitlines() if "dynamics: groups" not in line] == [
        "own.npz: 6 models in 2 groups, 4 snapshots, 9 samples, 5 units",
        "tolstoy: warning: own.npz: 9 samples: results of fewer than 100 are mostly chance",
    ]
    assert len(printed(capsys, file, *BY, "--top", 1).split("\n\n")[0].splitlines()) == 2


def test_models_that_differ_in_units_are_in_several_files(
    traces: Array, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "a.npz", traces=traces[:3], groups=GROUPS[:3])
    wider = np.pad(traces[3:], ((0, 0), (0, 0), (0, 0), (0, 2)))
    np.savez(tmp_path / "b.npz", traces=wider, groups=GROUPS[3:])
    np.savez(tmp_path / "all.npz", traces=traces, groups=GROUPS)
    several = as_json(capsys, tmp_path / "a.npz", tmp_path / "b.npz", *BY)["groups"]
    together = as_json(capsys, tmp_path / "all.npz", *BY)["groups"]
    for ours, expected in zip(several, together, strict=True):
        assert ours == {**expected, **{k: pytest.approx(expected[k]) for k in list(expected)[1:]}}


def test_groups_may_be_numbers_and_two_models_have_no_interval(
    traces: Array, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "own.npz", traces=traces[:4], groups=np.array([16, 4, 16, 4]))
    rows = as_json(capsys, tmp_path / "own.npz", *BY)["groups"]
    assert [(row["group"], row["low"], row["high"], row["models"]) for row in rows] == [
        (4, None, None, 2),
        (16, None, None, 2),
    ]
    out = printed(capsys, tmp_path / "own.npz", *BY)
    assert "Two models are one pair, which has no interval." in out and "draws" not in out


def test_layers_are_chosen_by_name(
    traces: Array, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = np.array(["deep", "deep", "shallow", "deep", "shallow"])
    np.savez(tmp_path / "own.npz", traces=traces, groups=GROUPS, layers=layers)
    rows = as_json(capsys, tmp_path / "own.npz", *BY, "--set", "layers=[deep]")["groups"]
    assert rows[1]["dynamics"] == pytest.approx(by_hand(traces[::2][..., [0, 1, 3]]).score)
    line = line_of(capsys, tmp_path / "own.npz", *BY, "--set", "layers=[deep, top]")
    assert "--set layers: found top, not in own.npz; accepted: deep, shallow" in line


def test_a_model_that_tells_no_samples_apart_is_warned_of(
    traces: Array, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces[2, -1] = 0.5
    np.savez(tmp_path / "own.npz", traces=traces, groups=GROUPS)
    assert main(["rank", str(tmp_path / "own.npz"), *BY]) == 0
    assert "own.npz: model 2: all samples have the same activations" in capsys.readouterr().err


def spoilt(array: Array, place: tuple[int, ...], value: float) -> Array:
    changed = array.copy()
    changed[place] = value
    return changed


T = np.random.default_rng(0).normal(size=(4, 3, 5, 2))
G = np.array(["a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (
            {"traces": spoilt(T, (2, 1, 4, 0), np.nan), "groups": G},
            ["own.npz, traces: found nan in model 2, snapshot 1, sample 4, unit 0", "finite"],
        ),
        ({"traces": spoilt(T, (0, 0, 0, 1), -np.inf), "groups": G}, ["-inf in model 0", "unit 1"]),
        ({"traces": T[0], "groups": G}, ["shape (3, 5, 2)", "(models, snapshots, samples, units)"]),
        ({"traces": T[:, :0], "groups": G}, ["shape (4, 0, 5, 2)"]),
        ({"traces": T[:, :1], "groups": G}, ["1 snapshot", "2 or more"]),
        ({"traces": T[:, :, :2], "groups": G}, ["2 samples", "more than neighbours"]),
        ({"traces": T.astype("U"), "groups": G}, ["own.npz, traces", "real numbers"]),
        ({"traces": T[:3], "groups": G[:3]}, ["groups: found 1 model in group b", "2 or more"]),
        ({"traces": T, "groups": G[:3]}, ["own.npz, groups: found shape (3,)", "(4,), the group"]),
        ({"traces": T, "groups": G[:, None]}, ["own.npz, groups: found shape (4, 1)"]),
        ({"traces": T, "groups": [1.0, 1.0, np.nan, np.nan]}, ["groups: found nan", "names or"]),
        ({"traces": T}, ["no groups in own.npz", "it holds traces", "traces (models, snapshots"]),
        ({"codes": T, "groups": G}, ["no traces in own.npz", "it holds codes, groups"]),
        ({"traces": T, "groups": G, "layers": ["x"]}, ["layers: found 1 name", "2, one for each"]),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(
    arrays: dict[str, Any], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "own.npz", **arrays)
    line = line_of(capsys, tmp_path / "own.npz", *BY)
    assert all(word in line for word in words), line


def test_shapes_that_differ_between_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "a.npz", traces=T, groups=G)
    np.savez(tmp_path / "b.npz", traces=T[:, :, :4], groups=G)
    line = line_of(capsys, tmp_path / "a.npz", tmp_path / "b.npz", *BY)
    assert "b.npz, traces: found 3 snapshots of 4 samples; accepted: 3 of 5, as in a.npz" in line


def test_what_does_not_fit_into_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "own.npz", traces=T, groups=G)
    monkeypatch.setattr("tasks.rank_dynamics.free_memory_bytes", lambda: 50_000.0)
    line = line_of(capsys, tmp_path / "own.npz", *BY)
    assert "FILE: found own.npz, of which a group takes" in line and "snapshots=..." in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "t"), ["--set: found 't'", "name=value"]),
        (("--set", "time=3"), ["--set: found 'time'", "neighbours"]),
        (("--set", "neighbour=3"), ["did you mean neighbours?"]),
        (("--set", "t=0"), ["--set t: found 0", "a whole number from 1"]),
        (("--set", "estimator=best"), ["--set estimator: found 'best'", "biased or unbiased"]),
        (("--set", "snapshots=9"), ["--set snapshots: found 9", "at most 3"]),
        (("--pool", "cell"), ["--pool", "nothing, with --by dynamics"]),
        (("--similarity", "lasso"), ["--similarity", "nothing, with --by dynamics"]),
        (("--p", "0"), ["--p: found 0", "nothing, with --by dynamics"]),
        (("--per-informative",), ["--per-informative", "nothing, with --by dynamics"]),
        (("--plot", "x.png"), ["--plot", "nothing, with --by dynamics"]),
        (("--top", "0"), ["--top", "a number from 1"]),
    ],
)
def test_options_that_are_wrong(
    arguments: tuple[str, ...],
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.savez(tmp_path / "own.npz", traces=T, groups=G)
    line = line_of(capsys, tmp_path / "own.npz", *BY, *arguments)
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("own.npz", "--by", "dynamic"), ["--by: found 'dynamic'", "did you mean dynamics?"]),
        (("own.npz", "--set", "t=3"), ["--set", "nothing, without --by dynamics"]),
        (("own.npz", "own.npz"), ["rank: found 2 places", "several with --by dynamics"]),
        ((".", *BY), ["store: found '.'", "a folder with study.json"]),
        ((".", "own.npz", *BY), ["rank: found 2 places", "one store, or several files"]),
        (("own.npz", *BY, "--data", "x"), ["--data: found 'x'", "by dynamics of files"]),
        (("nowhere.npz", *BY), ["FILE", "there is no nowhere.npz", "with traces (models"]),
    ],
)
def test_places_that_are_wrong(
    arguments: tuple[str, ...],
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "own.npz", codes=T[0], traces=T, groups=G)
    line = line_of(capsys, *arguments)
    assert all(word in line for word in words), line
