"""What is measured of this machine is what studies write and take."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import data
from flows import measured_here
from infra.errors import WrongInput
from infra.runtime import WORKER
from infra.store import Store
from tasks.measure import measure
from tasks.study.measurements import DYNAMICS, MODEL, PAIRS, Measured, few_points, keys
from tasks.study.reading import parse_study
from tests.flows.conftest import TINY


@pytest.fixture(scope="module")
def measured() -> Measured:
    traced = {"training": {**TINY["training"], "steps": 100}, "traces": {"count": 2, "samples": 9}}
    study = parse_study({**TINY, "methods": {"factor_vae": [10]}, **traced})
    before = dict(os.environ)
    found = {key: measure(key) for key in keys(study, {"dsprites": data.describe("dsprites")})}
    os.environ.clear()
    os.environ.update(before)
    return found


def test_everything_is_measured(measured: Measured) -> None:
    for key, facts in measured.items():
        positive = {name for name, value in facts.items() if value > 0}
        assert facts.keys() - positive <= {"train", "train_row"}, key


def test_bytes_are_those_of_a_study(measured: Measured, undisturbed: Path) -> None:
    store = Store(undisturbed)
    place = Path(store.path("models", store.names("models")[0], "weights.safetensors"))
    of_model = next(facts for key, facts in measured.items() if key.startswith(MODEL))
    assert of_model["weights"] == place.stat().st_size
    checkpoint = next(facts for key, facts in measured.items() if key.startswith("step"))
    assert checkpoint["checkpoint"] > 3 * of_model["weights"], "Adam keeps two more numbers"


def test_keys_tell_what_costs_differently() -> None:
    known = {"dsprites": data.describe("dsprites"), "noisy_dsprites": data.describe("cars3d")}
    study = parse_study(TINY)
    usual = keys(study, known)
    assert len(usual) == 2 * 2 + 2 + 1, "methods by channels, data sets, and pairs"
    assert not any(key.startswith(DYNAMICS) for key in usual)
    same = parse_study({**TINY, "seeds": 9, "training": {"steps": 9}, "name": "other"})
    assert keys(same, known) == usual
    for changes in ({"latents": 4}, {"architecture": "library"}):
        others = set(keys(parse_study({**TINY, **changes}), known))
        assert {key.partition(" ")[0] for key in others & set(usual)} <= {PAIRS}
    assert few_points(study.metrics) == study.metrics


def test_keys_of_dynamics_are_of_small_groups_that_can_be_compared() -> None:
    known = {"dsprites": data.describe("dsprites"), "noisy_dsprites": data.describe("cars3d")}

    def facts(traces: dict[str, object], **dynamics: object) -> list[dict[str, Any]]:
        training = {**TINY["training"], "steps": 10_000}
        changes = {"training": training, "traces": traces, "dynamics": dynamics}
        found = keys(parse_study({**TINY, **changes}), known)
        return [json.loads(k.partition(" ")[2]) for k in found if k.startswith(DYNAMICS)]

    (many,) = facts({"count": 100, "samples": 4000})
    assert (many["snapshots"], many["samples"], many["units"]) == (20, 512, 256 + 1024)
    (few,) = facts({"count": 1, "samples": 2}, layers=["dense1"], neighbours=3, t=4)
    assert (few["snapshots"], few["samples"], few["units"]) == (2, 4, 256)
    assert few["settings"]["t"] == 4
    assert (
        few == facts({"count": 1, "samples": 2}, layers=["dense1"], neighbours=3, t=4, draws=9)[0]
    )


def test_only_what_is_not_known_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path))
    asked: list[object] = []

    def measuring(missing: list[str]) -> Measured:
        asked.append(sorted(missing))
        return {key: {"step": float(len(asked)), "when": 0.0} for key in missing}

    def starting() -> float:
        asked.append("start")
        return 7.0

    monkeypatch.setattr(measured_here, "measure", measuring)
    monkeypatch.setattr(measured_here, "start_up_seconds", starting)
    assert measured_here.measured_here(["a"])["start-up"]["seconds"] == 7.0
    assert measured_here.measured_here(["a", "b"])["b"]["step"] == 3.0
    assert measured_here.measured_here(["b", "a"])["a"]["step"] == 2.0
    assert asked == ["start", ["a"], ["b"]]
    assert capsys.readouterr().err.count("measuring this machine") == 2
    assert measured_here.measured_here(["b"], renew=True).keys() == {"b", "start-up"}
    assert asked[3:] == ["start", ["b"]]
    assert measured_here.measured_here(["a", "b"])["a"]["step"] == 2.0, "what was known stays"
    monkeypatch.setattr(measured_here, "PROTOCOL", "another")
    measured_here.measured_here(["a"])
    assert asked[5:] == ["start", ["a"]], "what another version measured does not count"


def test_it_is_measured_with_the_settings_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(command: list[str], env: dict[str, str], **_: object) -> CompletedProcess[str]:
        return CompletedProcess(command, 0, json.dumps({name: env.get(name) for name in WORKER}))

    monkeypatch.setattr(measured_here.subprocess, "run", runs)
    assert measured_here.measure(["a"]) == WORKER


def test_a_measurement_that_fails_is_one_line() -> None:
    with pytest.raises(WrongInput, match=r"plan: found TypeError: _step.* missing"):
        measured_here.measure(['step {"method": "no such method"}'])
