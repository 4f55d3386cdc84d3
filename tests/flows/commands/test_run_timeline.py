"""`tolstoy run --timeline FILE`: what a real run writes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.cli import main
from infra.store import Store
from tasks.study.stored import stored_study
from tests.flows.conftest import MODELS, TIMELINE
from tests.flows.trained import models_of
from tests.timelines import check_timeline


def test_the_timeline_of_a_run_has_its_phases_and_every_model(undisturbed: Path) -> None:
    spans = check_timeline(undisturbed.parent / TIMELINE)
    driver = [name for name, _ in spans.pop("driver")]
    phases = {"imports", "survey", "Prefect starts", "Ray starts", "prepare data: dsprites"}
    assert phases | {"report", "Ray ends", "Prefect ends"} <= set(driver)
    assert spans and all(name.startswith("worker ") for name in spans)
    calls = [(name, facts) for of_worker in spans.values() for name, facts in of_worker]
    models = models_of(stored_study(Store(undisturbed)))
    assert len(models) == MODELS
    for stage in ("training", "scoring"):
        expected = {(f"{stage} {m.cell}, seed {m.seed}", m.id) for m in models}
        found = [(name, of["model"]) for name, of in calls if name.startswith(f"{stage} ")]
        assert (set(found), len(found)) == (expected, MODELS)
    names = {name for name, _ in calls}
    assert {"imports", "optimiser steps", "mig"} <= names
    assert any(name.startswith("comparing ") for name in names)
    assert any(name.startswith("ranking ") for name in names)


@pytest.mark.parametrize(
    ("file", "accepted"),
    [
        ("trace.txt", "a name that ends in .json"),
        ("there.json", "a file that does not exist yet"),
        ("nowhere/trace.json", "a folder that exists"),
    ],
)
def test_a_place_where_no_timeline_can_be_is_refused_before_the_work(
    file: str, accepted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there.json").write_text("mine")
    options = ["--timeline", str(tmp_path / file), "--store", str(tmp_path / "store")]
    assert main(["run", "smoke", *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("tolstoy: --timeline: found ") and accepted in err
    assert [path.name for path in tmp_path.iterdir()] == ["there.json"]


def test_a_wrong_spec_leaves_no_timeline(tmp_path: Path) -> None:
    assert main(["run", "smok", "--timeline", str(tmp_path / "trace.json")]) == 2
    assert list(tmp_path.iterdir()) == []
