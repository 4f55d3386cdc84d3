"""The foot of the first page says what the numbers were made with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.store import Store
from tasks.report import provenance as module
from tasks.report.page import write_report
from tasks.report.provenance import provenance
from tasks.report.results import read_results
from tasks.study.plain_yaml import parse_yaml
from tasks.study.reading import parse_study
from tests.tasks.report.conftest import Grid, MakeStore, blank_column
from tests.tasks.report.parsed import Page

GRID = Grid(data=("dsprites",), methods={"beta_vae": (4.0,)}, seeds=3, pictures=False, curves=False)
COMMIT, LOCK = "1234567890" * 4, "ab" * 32
MADE = {"tolstoy": "0.1.0", "torch": "2.13.0", "commit": COMMIT, "lock": LOCK}


def made_with(store: Store, *texts: str) -> dict[str, str]:
    """The facts, once the models' columns `versions` hold these texts."""
    (part,) = store.parts("models")
    rows = store.read("models", keys=[part]).to_pylist()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    store.write_part("models", part, columns | {"versions": list(texts)})
    return dict(provenance(read_results(store, GRID.study())).facts)


def test_commits_locks_and_machines_are_counted(make_store: MakeStore) -> None:
    new = json.dumps({**MADE, "processor": "AMD EPYC", "instructions": "x86_64, AVX-512"})
    changed = json.dumps({**MADE, "commit": f"{COMMIT}+changes"})
    facts = made_with(make_store(GRID), new, changed, new)
    assert facts["Trained by commit"] == (f"{COMMIT} (2 models); {COMMIT} with changes (1 model)")
    assert facts["Lock of packages when trained, SHA-256"] == LOCK
    assert facts["Versions when trained"] == "tolstoy 0.1.0, torch 2.13.0"
    assert facts["Processor"] == "AMD EPYC (2 models); not recorded (1 model)"


def test_instruction_sets_are_those_of_the_column_or_of_older_models_processors(
    make_store: MakeStore,
) -> None:
    new = json.dumps({**MADE, "instructions": "x86_64, AVX2"})
    assert made_with(make_store(GRID), new, new, new)["Instructions"] == "x86_64, AVX-512"
    store = make_store(GRID)
    blank_column(store, "models", "instructions", None)
    assert made_with(store, new, new, new)["Instructions"] == "x86_64, AVX2"
    facts = made_with(store, new, json.dumps({**MADE, "instructions": "arm64, NEON"}), new)
    assert facts["Instructions"] == (
        "x86_64, AVX2 (2 models); arm64, NEON (1 model); these round differently"
    )


@pytest.mark.parametrize("text", ["", "[1]", "torch <2>", '{"torch": "2"}'])
def test_models_of_older_versions_have_no_known_commit(make_store: MakeStore, text: str) -> None:
    facts = made_with(make_store(GRID), text, text, text)
    assert facts["Trained by commit"] == "no commit known"
    assert facts["Lock of packages when trained, SHA-256"] == "no lock known"


def test_core_hours_count_the_cores_of_each_model(make_store: MakeStore) -> None:
    store, study = make_store(GRID), GRID.study()
    blank_column(store, "models", "seconds", 7200.0)
    training = study.training.model_copy(update={"cpus_per_model": 2.0})
    facts = provenance(read_results(store, study.model_copy(update={"training": training}))).facts
    assert dict(facts)["Core-hours"].startswith("12.00: 12.00 of training, 0.00 of metrics;")


def test_the_yaml_is_the_spec(make_store: MakeStore) -> None:
    text = provenance(read_results(make_store(GRID), GRID.study())).spec
    study = GRID.study().model_copy(update={"data": parse_study(SPEC).data})
    assert parse_study(parse_yaml(text, "spec")).methods == study.methods
    assert parse_study(parse_yaml(text, "spec")).training == study.training


SPEC = {"name": "a", "data": ["dsprites"], "methods": {"beta_vae": [4]}}


def test_it_is_escaped_at_the_foot_and_in_short_on_every_page(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "made_with", lambda: {"commit": f"{COMMIT}+changes"})
    store = make_store(GRID)
    blank_column(store, "models", "versions", json.dumps({"commit": "<script>alert(1)"}))
    study = GRID.study().model_copy(update={"about": "<script>alert(2)"})
    index = Path(write_report(store, study, ("run",)))
    page = Page.alone(index)
    assert "Trained by commit <script>alert(1)" in page.text
    assert "about: <script>alert(2)" in page.text
    assert "<script>alert" not in page.html
    assert f"commit {COMMIT} with changes" in page.text
    assert ("a", "../study.json") in page.addresses
    question = Page.alone(index.parent / "questions" / "run.html")
    assert "commit 1234567890 with changes from the tables of" in question.text
    assert ("a", "../index.html#provenance") in question.addresses and "provenance" in page.ids
