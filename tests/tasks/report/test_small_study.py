"""The report of a real study whose tables lie here: 18 models on dSprites, docs/small-study.md."""

from __future__ import annotations

import re
import shutil
import warnings
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from infra.store import Store
from tasks.report.page import write_report
from tasks.study.reading import read_study
from tasks.study.stored import stored_study
from tests.tree import ROOT

TABLES = Path(__file__).parent / "small_study"
PAGE = ROOT / "docs/small-study.md"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A copy with its report, made without a warning."""
    place = tmp_path_factory.mktemp("real") / "store"
    shutil.copytree(TABLES, place)
    store = Store(place)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_report(store, stored_study(store))
    return store


def words(page: Path) -> str:
    text = re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", unescape(text))


def test_every_sentence_that_the_docs_quote_is_in_the_report(store: Store) -> None:
    quotes = re.findall(r"^> (.+)$", PAGE.read_text(encoding="utf-8"), re.M)
    first = words(Path(store.path("report", "index.html")))
    assert len(quotes) >= 8
    assert [quote for quote in quotes if quote not in first] == []


def test_the_spec_of_the_docs_is_that_of_the_tables(store: Store, tmp_path: Path) -> None:
    (spec,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    file = tmp_path / "small-study.yaml"
    file.write_text(spec)
    made = {model.id for cell in read_study(str(file)).cells() for model in cell.models}
    stored = pd.read_parquet(TABLES / "tables/models")
    assert made == set(stored["model_id"]) and set(stored["status"]) == {"trained"}


def test_no_published_number_is_said_to_agree_or_to_differ(store: Store) -> None:
    rows = pd.read_csv(store.path("report", "beside-the-papers.csv"))
    assert len(rows) > 100
    computed = rows[rows["ours"].notna()]
    assert len(computed) >= 10
    assert not set(computed["grid"]) & {"full"}
    page = words(Path(store.path("report", "questions", "papers.html")))
    assert "agrees within" not in page and "than chance allows" not in page


def test_pictures_that_are_not_here_are_missed_in_words(store: Store) -> None:
    page = words(Path(store.path("report", "questions", "pictures.html")))
    assert "No traversal in the table of pictures." in page


def test_the_tables_are_small() -> None:
    assert sum(file.stat().st_size for file in TABLES.rglob("*") if file.is_file()) < 1_000_000
