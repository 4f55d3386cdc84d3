"""Pages of methods without a strength, a posterior or steps: no number stands for none."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from infra.store import Store
from models import NO_STRENGTH
from tasks.report.page import write_report
from tasks.report.published import KINDS_DATA
from tests.tasks.report.conftest import Grid, fill, fill_pairs
from tests.tasks.report.parsed import NO_NUMBER, SENTENCES, Page

GRID = Grid(
    data=(KINDS_DATA,),
    sources={KINDS_DATA: "look-alike"},
    methods={"pca": (NO_STRENGTH,), "beta_vae": (1.0, 6.0), "infogan": (6.0,)},
    seeds=3,
    metrics=("dci_lasso", "dci_forest", "mig"),
    diverged={(KINDS_DATA, "pca", NO_STRENGTH, 2): "pixels are not finite"},
)
AS_STRENGTH = re.compile(r"= 0\b(?![.,]\d)|PCA, 0|, ,|\( |, *λ = 6, λ|KL –|at strength 0")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Store(tmp_path_factory.mktemp("store"))
    fill(store, GRID)
    fill_pairs(store)
    return Path(write_report(store, GRID.study())).parent


def pages(report: Path) -> dict[str, Page]:
    return {str(p.relative_to(report)): Page.alone(p) for p in report.rglob("*.html")}


def test_no_page_has_a_strength_that_is_none(report: Path) -> None:
    for name, page in pages(report).items():
        words = page.everything_readable
        found = [words[max(0, m.start() - 60) : m.end() + 40] for m in AS_STRENGTH.finditer(words)]
        assert not found, name


def test_no_page_says_nan(report: Path) -> None:
    for name, page in pages(report).items():
        words = page.everything_readable
        for sentence in SENTENCES:
            words = words.replace(sentence, "")
        found = [words[max(0, m.start() - 60) : m.end() + 40] for m in NO_NUMBER.finditer(words)]
        assert not found, name


def test_the_cell_of_pca_has_a_page_without_curves(report: Path) -> None:
    page = Page.alone(report / "cells" / "teapots-pca-0-look-alike.html")
    assert "PCA on Teapots look-alike : 2 of 3 models trained" in page.text
    assert "pixels are not finite" in page.text and "Training" not in page.html.split("<main")[1]
    assert page.html.count('class="moves"') > 0, "its traversal moves, though its rows have no KL"


def test_infogan_has_a_curve_of_its_loss(report: Path) -> None:
    page = Page.alone(report / "questions" / "curves.html")
    labels = [value for value in page.attributes if value.endswith("over training steps.")]
    assert sorted(labels) == [
        "Loss of InfoGAN on Teapots over training steps.",
        "Reconstruction and KL of β-VAE on Teapots over training steps.",
    ]


def test_the_table_of_all_models_leaves_the_strength_blank(report: Path) -> None:
    text = (report / "models.html").read_text("utf-8")
    match = re.search(r'<script type="application/json" id="model-data">(.*?)</script>', text)
    assert match
    rows = json.loads(match[1])["rows"]
    assert {row[4] for row in rows if row[3] == "PCA"} == {None}
    assert {row[4] for row in rows if row[3] == "InfoGAN"} == {6.0}


def test_latents_without_kl_are_not_counted_as_informative(report: Path) -> None:
    page = Page.alone(report / "questions" / "ranking.html")
    rows = re.findall(r"<tr>.*?</tr>", page.html, re.DOTALL)
    of_pca = [row for row in rows if "pca" in row]
    assert of_pca and not any("of 10" in row for row in of_pca)
    assert any("of 10" in row for row in rows if "beta_vae" in row)


def test_the_choice_by_udr_says_what_methods_lack(report: Path, tmp_path: Path) -> None:
    no_kl, at_once = "Methods without a posterior", "PCA is fitted at once"
    page = Page.alone(report / "questions" / "best.html")
    assert f"{no_kl} (PCA, InfoGAN) have no KL: UDR takes all of their latents" in page.text
    assert f"{at_once}: its seeds hardly differ" in page.text
    store, grid = Store(tmp_path), replace(GRID, methods={"beta_vae": (1.0, 6.0)}, diverged={})
    fill(store, grid)
    fill_pairs(store)
    page = Page.alone(Path(write_report(store, grid.study())).parent / "questions" / "best.html")
    assert no_kl not in page.text and at_once not in page.text


def test_few_steps_are_set_beside_those_of_papers_that_train_the_method(report: Path) -> None:
    text = Page.alone(report / "questions" / "best.html").text
    of_vae, of_gan = text.split(", β-VAE:")[1].split(", InfoGAN:")
    assert "only 120 training steps (the papers: 300,000)." in of_vae
    assert "only 120 training steps." in of_gan and "300,000" not in of_gan
