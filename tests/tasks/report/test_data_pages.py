"""A data set's page says what it is, what was found on it, and what its cells score."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from infra.store import Store
from tasks.report.data_pages import concerns, data_pages
from tasks.report.labels import data_label
from tasks.report.page import write_report
from tasks.report.provenance import provenance
from tasks.report.questions import Facts, Sentence, Sheet, Table
from tasks.report.results import read_results
from tasks.study.data_choice import DataChoice, ReadFacts
from tests.tasks.report.conftest import Grid, MakeStore, fill
from tests.tasks.report.parsed import Page

LOST = {("dsprites", "beta_vae", 4.0, 1): "loss is not finite at <step> 61"}
GRID = Grid(seeds=3, sources={"color_dsprites": "look-alike"}, diverged=LOST, curves=False)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store(tmp_path_factory.mktemp("store"))
    fill(made, GRID)
    write_report(made, GRID.study(), ("run", "best", "agreement"))
    return made


def page(store: Store, name: str) -> Page:
    return Page.alone(Path(store.root) / "report" / "data" / f"{name}.html")


def contents(store: Store, grid: Grid = GRID, place: int = 0) -> dict[str, list[object]]:
    """The parts of a data set's page by their headings."""
    _, _, answers = list(data_pages(read_results(store, grid.study()), ()))[place]
    return {title: list(answer.content) for title, answer in answers.items()}


def test_a_known_data_set_is_described(store: Store) -> None:
    words = page(store, "dsprites-redrawn").text
    assert "Source redrawn: drawn again by the authors' recipe" in words
    assert "Pictures 737,280 Size 64 × 64, 1 channel" in words
    assert "Factor Values shape 3 scale 6 orientation 40" in words
    assert "Matthey et al. 2017" in words
    assert (
        "look-alike: drawn to resemble the original"
        in page(store, "color_dsprites-look-alike").text
    )


def test_an_official_file_has_its_checksum(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("dsprites",), sources={"dsprites": "official"}, pictures=False)
    facts = next(c for c in contents(make_store(grid), grid)[""] if isinstance(c, Facts))
    assert re.search(r"(sha256|md5):[0-9a-f]{32}", str(facts.facts))


def test_of_the_users_own_files_it_says_what_was_read(make_store: MakeStore) -> None:
    grid = replace(GRID, data=("mine",), sources={"mine": "user"}, pictures=False, diverged={})
    facts = ReadFacts(pictures=60, channels=3, factors=(("angle", None), ("<b>", 4)))
    choice = DataChoice(name="mine", source="user", folder="/tmp/p", content="a" * 64, read=facts)
    study = grid.study().model_copy(update={"data": (choice,)})
    store = make_store(grid)
    write_report(store, study, ("run",))
    words = page(store, "mine-user").text
    assert "60 pictures, 3 channels, of /tmp/p" in words
    assert "Factor Values angle real numbers <b> 4" in words
    assert "a" * 64 in words
    assert "60 pictures: results of fewer than 100 are mostly chance." in words


@pytest.mark.parametrize(
    ("pictures", "text"),
    [(20_000, "Pictures the first 20,000 of 200,000 pictures"), (None, "Pictures 200,000")],
)
def test_of_a_data_set_in_part_it_says_how_much(
    make_store: MakeStore, pictures: int | None, text: str
) -> None:
    sources = {"teapots": "look-alike"}
    grid = replace(GRID, data=("teapots",), sources=sources, pictures=False, diverged={})
    choice = DataChoice(name="teapots", source="look-alike", pictures=pictures)
    store, study = make_store(grid), grid.study().model_copy(update={"data": (choice,)})
    write_report(store, study, ("run",))
    assert f"{text} Size 64 × 64, 3 channels" in page(store, "teapots-look-alike").text
    data = dict(provenance(read_results(store, study)).facts)["Data"]
    part = ", the first 20,000 of 200,000 pictures" if pictures else ""
    assert data == f"Teapots (look-alike): drawn, no file{part}"


def test_findings_are_those_of_the_data_set(store: Store) -> None:
    for name, other in (("dSprites", "Color-dSprites"), ("Color-dSprites", "dSprites")):
        slug = "dsprites-redrawn" if name == "dSprites" else "color_dsprites-look-alike"
        found = re.search(r"Findings (.*) Cells ", page(store, slug).text)
        assert found
        assert f"Do the scores agree with each other? {name} : the mean" in found[1]
        assert not re.search(rf"(?<![\w-]){other}", found[1])
    links = page(store, "dsprites-redrawn").addresses
    assert ("a", "../questions/best.html#best") in links


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (data_label("dsprites", "redrawn") + ": 3.", True),
        (data_label("dsprites", "official") + ": 3.", False),
        (data_label("color_dsprites", "redrawn") + ": 3.", False),
        (data_label("color_dsprites", "redrawn") + ", not dSprites.", True),
        ("On dSprites it is 3.", True),
        ("On Color-dSprites it is <3.", False),
    ],
)
def test_a_sentence_concerns_a_data_set_if_it_names_it(text: str, wanted: bool) -> None:
    assert concerns(text, "dsprites", "redrawn") is wanted


def test_cells_have_their_medians_and_the_best_of_each_method(store: Store) -> None:
    rows = store.read("scores").to_pandas()
    rows = rows[(rows.part == "score") & rows.factor.isna() & (rows.data == "dsprites")]
    medians = rows.groupby(["metric", "method", "strength"]).value.median()
    (table,) = (c for c in contents(store)["Cells"] if isinstance(c, Table))
    for row in table.rows:
        method = row.keys["method"]
        (strength,) = re.findall(r"dsprites-\w+-(\d+)-redrawn.html", row.cells[0].text)
        for metric, cell in zip(GRID.metrics, row.cells[2:], strict=False):
            of_method = medians[metric, method]
            assert cell.value == pytest.approx(of_method[float(strength)])
            assert (cell.style == "best") == (abs(cell.value - of_method.max()) < 1e-9)


def test_models_without_weights_are_named_and_counted(store: Store) -> None:
    words = page(store, "dsprites-redrawn").text
    assert "11 of 12 models trained, 1 diverged." in words
    assert re.search(r"β-VAE, β = 4 1 diverged 60 loss is not finite at <step> 61", words)
    assert "without weights" not in page(store, "color_dsprites-look-alike").text
    link = ("a", "../models.html#data=color_dsprites&source=look-alike")
    assert link in page(store, "color_dsprites-look-alike").addresses


def test_the_sheet_has_the_originals_alone(store: Store) -> None:
    (sheet,) = (c for c in contents(store)[""] if isinstance(c, Sheet))
    small = np.asarray(Image.open(io.BytesIO(sheet.picture.content)).convert("L"), float)
    model_id = sheet.picture.name.partition("-")[0]
    rows = store.read("pictures").to_pandas().set_index(["model_id", "kind"])
    whole = Image.open(io.BytesIO(rows.png[model_id, "reconstruction"])).convert("L")
    assert small.shape == (64, whole.width)
    assert np.abs(small - np.asarray(whole, float)[:64]).mean() < 3


def test_without_scores_and_pictures_there_is_still_a_page(make_store: MakeStore) -> None:
    failed = {("dsprites", "beta_vae", 4.0, 0): "out of memory"}
    grid = Grid(data=("dsprites",), methods={"beta_vae": (4.0,)}, seeds=1, diverged=failed)
    parts = contents(make_store(grid), grid)
    assert list(parts) == ["", "Cells", "Models without weights"]
    assert [type(part) for part in parts["Cells"]] == [Sentence]


def test_labels_and_the_menu_lead_to_the_pages(store: Store) -> None:
    first = Page.alone(Path(store.root) / "report" / "index.html")
    for name in ("dsprites-redrawn", "color_dsprites-look-alike"):
        assert ("a", f"data/{name}.html") in first.addresses
    assert ("a", "#data-sets") in first.addresses and "data-sets" in first.ids
    question = Page.alone(Path(store.root) / "report" / "questions" / "best.html")
    assert ("a", "../index.html#data-sets") in question.addresses
    assert ("a", "../data/dsprites-redrawn.html") in question.addresses
    for path in (Path(store.root) / "report").rglob("*.html"):
        html = path.read_text("utf-8")
        for tag in ("summary", "button"):
            inside = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", html, re.DOTALL)
            assert not [text for text in inside if "<a " in text], path.name
