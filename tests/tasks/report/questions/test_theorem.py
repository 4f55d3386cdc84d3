"""Theorem 1 in the report: only where it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, norm

from flows.cli import main
from metrics import METRICS
from tasks.report.questions import Figures, Sentence, Table
from tasks.report.questions.theorem import POINTS, answer
from tasks.report.results import read_results
from tests.tasks.report.conftest import Grid, MakeStore

GRID = Grid(data=("dsprites",), methods={"beta_vae": (1.0,)}, seeds=1, pictures=False)


@pytest.fixture(autouse=True)
def two_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them take ten seconds."""
    some = {name: METRICS[name] for name in ("mig", "jemmig")}
    monkeypatch.setattr("tasks.theorem.METRICS", some)


def test_both_representations_by_hand(make_store: MakeStore) -> None:
    """alpha = 1/4 and three factors: v = (1/2, √(3/8), √(3/8)), A = 1 - 2 v vᵀ."""
    answered = answer(read_results(make_store(GRID), GRID.study()))
    (figures,) = (c for c in answered.content if isinstance(c, Figures))
    perfect, entangled = (figure.data.to_numpy() for figure in figures.groups[0].figures)
    assert np.array_equal(perfect[:, :3], perfect[:, 3:]), "codes and factors"
    v = np.array([0.5, np.sqrt(3 / 8), np.sqrt(3 / 8)])
    wanted = norm.cdf(norm.ppf(perfect[:, 3:]) @ (np.eye(3) - 2 * np.outer(v, v)))
    assert entangled[:, :3] == pytest.approx(wanted)
    without, with_labels = (c for c in answered.content if isinstance(c, Table))
    values: list[list[Any]] = [[cell.value for cell in row.cells[1:]] for row in without.rows]
    u = np.random.default_rng(0).uniform(size=(POINTS, 3))
    assert [row[0] for row in values[:3]] == pytest.approx(
        [kstest(latent, "uniform").statistic for latent in u.T]
    )
    assert max(max(row) for row in values[:3]) < 1.5 * 1.36 / np.sqrt(POINTS)
    assert max(values[4]) < 0.01, "total correlation"
    assert values[5][0] == 0 and values[5][1] > 0
    scores = {row.cells[0].value: [c.value for c in row.cells[1:3]] for row in with_labels.rows}
    assert scores["mig"][0] > 0.95 and scores["mig"][1] < 0.2  # type: ignore[operator]
    first = answered.content[0]
    assert isinstance(first, Sentence) and "2 of 2 metrics</b> call the perfect" in first.text


def test_only_a_request_adds_the_page(
    make_store: MakeStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_store(GRID)
    store.write_json(GRID.study().model_dump(mode="json"), "study.json")
    page = Path(store.uri) / "report" / "questions" / "theorem.html"
    assert main(["report", store.uri, "--with", "theorm"]) == 2
    said = capsys.readouterr().err
    assert said == "tolstoy: --with: found 'theorm'; accepted: theorem (did you mean theorem?)\n"
    assert not (Path(store.uri) / "report").exists()
    assert main(["report", store.uri, "--with", "theorem"]) == 0
    assert "Entangled" in page.read_text(encoding="utf-8")
    index = Path(store.uri) / "report" / "index.html"
    assert "questions/theorem.html" in index.read_text(encoding="utf-8")
    assert main(["report", store.uri]) == 0
    assert not page.exists() and "theorem.html" not in index.read_text(encoding="utf-8")
