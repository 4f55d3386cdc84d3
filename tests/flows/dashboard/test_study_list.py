"""The list of studies: what it says, and what it leaves out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flows.dashboard.limits import Limits
from flows.dashboard.study_list import studies, study_list
from tests.flows.trained import made_up, models_of, train


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study with half of its models and a report, one without both, and what is no study."""
    folder = tmp_path / "studies"
    study, store = made_up(folder / "half")
    train(store, models_of(study)[:3])
    store.write_bytes(b"<html>", "report", "index.html")
    os.utime(folder / "half/report/index.html", (1.7e9, 1.7e9))
    made_up(folder / "fresh")
    made_up(tmp_path / "elsewhere")
    (folder / "out").symlink_to(tmp_path / "elsewhere")
    made_up(folder / "<b>no name")
    (folder / "broken").mkdir()
    wrong = {"name": "<script>", "data": ["dsprites"], "methods": {"beta_vae": [1]}}
    (folder / "broken/study.json").write_text(json.dumps(wrong))
    (folder / "notes").mkdir()
    (folder / "file").touch()
    return folder


def test_each_study_says_how_far_it_is_and_when_its_report_was_written(folder: Path) -> None:
    broken, fresh, half = studies(Limits(studies=str(folder)))
    assert [broken.name, fresh.name, half.name] == ["broken", "fresh", "half"]
    assert half.state.startswith("3 of 6 models trained, 3 scored, 3 left")
    assert "nobody works on it" in half.state
    assert half.report and half.report.timestamp() == 1.7e9
    assert fresh.state.startswith("0 of 6 models trained") and fresh.report is None
    assert "as tolstoy run wrote it" in broken.state


def test_the_page_links_to_reports_and_escapes_what_it_says(folder: Path) -> None:
    page = study_list(Limits(studies=str(folder)))
    assert page.count("href=") == 1
    assert '<a href="half/report/index.html">half</a>' in page
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "no name" not in page and "elsewhere" not in page


def test_a_folder_without_studies_says_so(tmp_path: Path) -> None:
    assert "There is no study yet" in study_list(Limits(studies=str(tmp_path / "none")))
