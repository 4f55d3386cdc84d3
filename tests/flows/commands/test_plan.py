"""What `tolstoy plan` counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from flows.cli import main
from flows.measured_here import START_UP
from infra.store import Store
from tasks.model_row import write_row
from tasks.study.measurements import Measured
from tasks.study.model import TRAINED
from tasks.study.reading import read_study
from tasks.study.sources import with_sources
from tests.flows.conftest import MODELS, TINY, write_spec
from tests.infra.ray_head import ray_head
from tests.tasks.study.test_cost import MEASURED


def as_if_measured(keys: list[str], renew: bool) -> Measured:
    made_up = {key: MEASURED[key.partition(" ")[0]] | {"when": 0.0} for key in keys}
    return made_up | {START_UP: {"seconds": 9.0}}


def test_plan_counts_what_is_there_and_what_is_left(
    spec: Path,
    undisturbed: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flows.estimate.measured_here", as_if_measured)
    arguments = ["plan", str(spec), "--set", "seeds=3", "--store", str(undisturbed), "--json"]
    assert main(arguments) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["cells"], plan["models"], plan["model_steps"]) == (
        3,
        9,
        9 * TINY["training"]["steps"],
    )
    assert (plan["trained"], plan["left"], plan["scored"]) == (6, 3, 6)
    assert plan["core_hours_left"] > 0


@pytest.mark.parametrize("metrics", [["mig"], []])
def test_models_are_to_score_only_with_metrics(
    metrics: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.estimate.measured_here", as_if_measured)
    monkeypatch.setattr("flows.commands.run._run_flow", interrupted)
    spec = write_spec(tmp_path / "spec.yaml", metrics=metrics)
    arguments = [str(spec), "--store", str(tmp_path / "store")]
    assert main(["plan", *arguments]) == 0
    to_score = f", {MODELS} to score" if metrics else ""
    assert f"left         {MODELS} to train{to_score}" in capsys.readouterr().out.splitlines()
    assert main(["run", *arguments]) == 130
    assert f": {MODELS} models to train{to_score}, 0 trained" in capsys.readouterr().err


def test_plan_and_run_say_what_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "cache"))
    (tmp_path / "My Photos").mkdir()
    for row in range(3):
        Image.new("RGB", (80, 70), (row, 9, 9)).save(tmp_path / "My Photos" / f"{row}.png")
    (tmp_path / "My Photos" / "notes.txt").write_text("no picture")
    spec = write_spec(tmp_path / "own.yaml", data=[{"folder": str(tmp_path / "My Photos")}])
    said = f"3 pictures, 3 channels, of {tmp_path}/My Photos (1 file ignored: .txt 1)"
    advice = "My-Photos has no factors: of the metrics none can be computed; --set 'metrics=[unsup"
    doubt = "tolstoy: warning: My-Photos: 3 pictures: results of fewer than 100 are mostly chance"
    monkeypatch.setattr("flows.estimate.measured_here", as_if_measured)
    arguments = [str(spec), "--store", str(tmp_path / "store")]
    assert main(["plan", *arguments]) == 0
    out, err = capsys.readouterr()
    assert f"read         My-Photos: {said}" in out.splitlines() and doubt in err
    assert err.count(advice) == 1
    assert main(["plan", *arguments, "--json"]) == 0
    read = json.loads(capsys.readouterr().out)["read"]["My-Photos"]
    assert (read["pictures"], read["channels"], read["ignored"]) == (3, 3, 1)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.commands.run._run_flow", interrupted)
    assert main(["run", *arguments]) == 130
    lines = capsys.readouterr().err.splitlines()
    assert f"My-Photos: {said}" in lines and doubt in lines
    assert sum(advice in line for line in lines) == 1


def test_a_plan_says_how_many_first_pictures_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("flows.estimate.measured_here", as_if_measured)
    for pictures, line in (
        (2500, "read         teapots: the first 2,500 of 200,000 pictures"),
        (None, ""),
    ):
        teapots = {"name": "teapots", "source": "look-alike", "pictures": pictures}
        spec = write_spec(tmp_path / "spec.yaml", data=[teapots])
        assert main(["plan", str(spec), "--store", str(tmp_path / "store")]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [row for row in lines if row.startswith("read")] == [line][: bool(line)]
        plan = as_json(capsys, spec, "--store", tmp_path / "store")
        assert plan["first_pictures"] == ({"teapots": pictures} if pictures else {})
    assert not list((tmp_path / "cache").glob("teapots*")), "a plan draws nothing"


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["plan", *map(str, arguments), "--json"]) == 0
    plan: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plan


def test_a_plan_for_other_machines(
    spec: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flows.estimate.measured_here", as_if_measured)
    arguments = [spec, "--set", "seeds=40", "--store", tmp_path / "new"]
    one, many = (as_json(capsys, *arguments, "--cores", cores) for cores in (1, 16))
    assert one["core_hours_left"] == many["core_hours_left"] == sum(one["hours_left"].values())
    assert all(hours > 0 for hours in one["hours_left"].values())
    minutes = [plan["minutes_left"] - plan["start_up_seconds"] / 60 for plan in (one, many)]
    assert minutes[0] == pytest.approx(16 * minutes[1], rel=0.1)
    with ray_head([{"CPU": 10.0}, {"CPU": 6.0}]) as address:
        assert as_json(capsys, *arguments, "--ray", address) == many
        assert main(["plan", *map(str, arguments), "--ray", address]) == 0
    assert f"on 16 cores of {address}, of which 9 s to start" in capsys.readouterr().out
    (of_data,) = one["data_sets"]
    assert (of_data["data"], of_data["source"], of_data["models_left"]) == (
        "dsprites",
        "redrawn",
        120,
    )
    assert of_data["bytes"]["weights"] == one["bytes"]["weights"] == 120 * 1000


def test_a_gpu_counts_as_a_core_until_one_has_trained(
    spec: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flows.estimate.measured_here", as_if_measured)
    arguments = ["plan", str(spec), "--store", str(tmp_path / "store"), "--gpus", "2"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "and 2 GPUs such as this machine's" in text
    assert "each counted as one core" in text
    before = as_json(capsys, *arguments[1:])
    study = with_sources(read_study(str(spec)))
    store = Store(tmp_path / "store")
    store.write_json(study.model_dump(mode="json"), "study.json")
    model = study.cells()[0].models[0]
    write_row(model, store, TRAINED, steps=120, seconds=1.2, device="A100", kl_per_latent=[[1.0]])
    after = as_json(capsys, *arguments[1:])
    assert (before["gpu_pace_known"], after["gpu_pace_known"]) == (False, True)
    steps, other = 120 * 0.5 * 8 / 64, 64 * 0.125 + 3.0
    assert before["hours_left"]["training"] == pytest.approx(6 * (steps + other) / 3600)
    on_gpu = 120 * 1.2 / 120
    assert after["hours_left"]["training"] == pytest.approx(5 * (on_gpu + other) / 3600)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cores", "0"], "--cores: found 0; accepted: a number from 1 to "),
        (["--gpus", "-1"], "--gpus: found -1; accepted: a number from 0 to "),
        (["--cores", "4", "--ray", "127.0.0.1:1"], "--ray: found 127.0.0.1:1 with --cores"),
        (["--ray", "127.0.0.1"], "--ray: found '127.0.0.1'; accepted: HOST:PORT"),
    ],
)
def test_machines_that_cannot_be_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "smoke", *options]) == 2
    assert message in capsys.readouterr().err


def test_numbers_and_words_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.estimate.measured_here", as_if_measured)
    one = write_spec(tmp_path / "one.yaml", methods={"beta_vae": [1]}, seeds=1)
    assert main(["plan", str(one), "--store", str(tmp_path / "s"), "--cores", "1"]) == 0
    text = capsys.readouterr().out
    assert "1 = 1 data set × 1 strength of 1 method\n" in text
    assert "1 = 1 cell × 1 seed\n" in text
    assert "on 1 core such as" in text


def test_plan_says_what_traces_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.estimate.measured_here", as_if_measured)
    training = {**TINY["training"], "steps": 1000}
    traces = {"count": 10, "samples": 100, "vary": ["position_x", "position_y"]}
    spec = write_spec(tmp_path / "traced.yaml", training=training, traces=traces)
    arguments = ["plan", str(spec), "--store", str(tmp_path / "store")]
    assert main([*arguments, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    hours = [plan["hours_left"], plan["data_sets"][0]["hours_left"]]
    assert all(of_stages["dynamics"] > 0 for of_stages in hours)
    one = 10 * 100 * (256 + 1024) * 2
    assert plan["snapshots"] == 10 and plan["bytes"]["traces"] == plan["models"] * one
    assert main(arguments) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("traces ")]
    in_all = f"{plan['models'] * one / 1e6:.0f} MB in all"
    assert said == [f"traces       10 snapshots of dense1, dense2: 3 MB per model, {in_all}"]
    assert main([*arguments, "--set", "traces.vary=[pos]"]) == 2
    assert "traces.vary" in capsys.readouterr().err
    assert main([*arguments, "--set", "traces=null"]) == 0
    out = capsys.readouterr().out
    assert (
        "dynamics" not in out
        and " traces)" not in out
        and "\ntraces " not in out
        and "weights, " in out
    )


def test_plan_says_how_many_workers_fit_here(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def measured(keys: list[str], renew: bool) -> Measured:
        made_up = as_if_measured(keys, renew)
        for key in keys:
            if key.startswith("step"):
                made_up[key] |= {"worker_mb": 300.0, "batch_mb": 100.0}
        return made_up

    monkeypatch.setattr("flows.estimate.measured_here", measured)
    monkeypatch.setattr("infra.runtime.free_memory_bytes", lambda: 3.6e9)
    monkeypatch.setattr("flows.commands.plan.cores", lambda: 8)
    arguments = ["plan", str(spec), "--store", str(tmp_path / "store")]
    for batch, size, fit in ((64, "500 MB", 7), (256, "700 MB", 5)):
        changed = [*arguments, "--set", f"training.batch_size={batch}"]
        assert main(changed) == 0
        lines = capsys.readouterr().out.splitlines()
        (line,) = [line for line in lines if line.startswith("memory ")]
        assert f"{size} for a worker, of which {fit} fit" in line
        assert ("fewer than its 8 cores: tolstoy run SPEC --workers 5" in line) == (fit == 5)
        assert main([*changed, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["workers_that_fit_here"] == fit
