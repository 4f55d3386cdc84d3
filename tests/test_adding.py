"""Adding to a copy of the tree is one file and one line of a table, as CONTRIBUTING.md says.

A VAE, a method that is none, a metric, a similarity, a data set and a question are added, a wheel
is built from that copy, and every command that names them is run from it. Another package adds a
metric.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.plug_in import install_plug_in
from tests.tasks.report.parsed import Page
from tests.tree import TINY, changes, python_in, tolstoy_in

STUDY = [
    *TINY,
    "data=[squares]",
    "methods={tiny_vae: [1, 2], directions: []}",
    "metrics.names=[correlation, best_rho]",
    "udr.similarities=[pearson, spearman]",  # named in the report if there are several
]


def test_each_addition_is_one_file_and_one_line_also_in_a_wheel(
    wheel: zipfile.ZipFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, folder = tmp_path / "installed", tmp_path / "elsewhere"
    wheel.extractall(installed)
    install_plug_in(installed)
    folder.mkdir()
    monkeypatch.setenv("TOLSTOY_DATA", str(tmp_path / "data"))
    package = python_in(
        installed, folder, "-c", "import flows, tasks.study as s; print(s.__path__)"
    )
    assert str(installed) in package

    def tolstoy(*arguments: str) -> str:
        return tolstoy_in(installed, folder, *arguments)

    study = ["smoke", *changes(*STUDY), "--store", "store"]
    assert json.loads(tolstoy("plan", *study, "--json"))["models"] == 6
    tolstoy("run", *study, "--workers", "1")

    draws = np.random.default_rng(0)
    factors = draws.integers(3, size=(90, 2))
    np.savez(folder / "scored.npz", codes=factors + draws.normal(size=(90, 2)), factors=factors)
    metrics = ("--metrics", "correlation,best_rho")
    row, same = json.loads(tolstoy("score", "scored.npz", *metrics, "--json"))
    assert 0 < row["value"] < 1 and same["value"] == row["value"]
    assert "Title: Best ρ" in tolstoy("score", "--explain", "best_rho")

    np.savez(folder / "ranked.npz", codes=draws.normal(size=(3, 50, 2)))
    ranking = json.loads(tolstoy("rank", "ranked.npz", "--similarity", "pearson", "--json"))
    assert len(ranking["models"]) == 3
    assert "tiny_vae" in tolstoy("rank", "store")

    report = folder / "store" / "report" / "index.html"
    assert "<svg" in Page.at(str(report)).html
    report.unlink()
    tolstoy("report", "store")
    page = Page.at(str(report)).html
    cited = tolstoy("cite", "store")
    assert "Directions" in page
    for title in ("TinyVAE", "Largest correlation", "Pearson", "Squares"):
        assert title in page, title
        assert title in cited, title
    assert "Best ρ" in page
    for paper in ("kumar-2018", "do-2020", "li-2020", "reed-2015"):
        assert f"{{{paper}," in cited, paper
    assert "The store has 6 models." in page
