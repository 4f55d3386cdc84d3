"""The page shows what the tables hold, loads no other file, and is written for any store."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from infra.store import Store
from tasks.citations import PAPERS
from tasks.report.frames import read_frames
from tasks.report.page import write_report
from tasks.study.data_choice import DataChoice, ReadFacts
from tasks.words import number
from tests.tasks.report.conftest import Grid, MakeStore, fill, without
from tests.tasks.report.parsed import Page

DIVERGED = {("dsprites", "beta_vae", 4.0, 1): "loss is not finite at step 61"}
GRID = Grid(seeds=6, sources={"color_dsprites": "look-alike"}, diverged=DIVERGED)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store(tmp_path_factory.mktemp("store"))
    fill(made, GRID)
    return made


@pytest.fixture(scope="module", autouse=True)
def address(store: Store) -> str:
    return write_report(store, GRID.study())


@pytest.fixture(scope="module")
def page(address: str) -> Page:
    return Page.at(address)


def table(store: Store, name: str) -> pd.DataFrame:
    return store.read(name).to_pandas()


def headlines(store: Store, metric: str) -> pd.DataFrame:
    scores = table(store, "scores")
    return scores[(scores.metric == metric) & (scores.part == "score") & scores.factor.isna()]


def chosen_models(path: Path, anchor: str) -> list[str]:
    """The models that models.html#ANCHOR shows, by the data of the page."""
    table = data_of(path, "model-data")
    wanted = {name: values[0] for name, values in parse_qs(anchor).items()}
    cell = wanted.pop("cell", None)
    places = {"data": 1, "source": 2, "method": 3, "status": 6}
    chosen = [(places[key], table["names"].get(name, name)) for key, name in wanted.items()]
    return [
        row[0]
        for row, of_cell in zip(table["rows"], table["cells"], strict=True)
        if (cell is None or cell == of_cell) and all(row[at] == name for at, name in chosen)
    ]


def data_of(path: Path, name: str) -> Any:
    """What a page holds for its script, if anything."""
    html = path.read_text("utf-8")
    match = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html)
    return json.loads(match[1]) if match else None


def written(store: Store) -> list[Path]:
    folder = Path(store.root) / "report"
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_report_is_a_folder_of_pages_and_what_lies_beside_them(
    store: Store, address: str
) -> None:
    folder = Path(store.root) / "report"
    assert address == str(folder / "index.html")
    names = [str(file.relative_to(folder)) for file in written(store)]
    assert sorted([*store.read_json("report", "files.json"), "files.json"]) == names
    kinds = {name.split("/")[0] for name in names}
    assert kinds == {
        *("beside-the-papers.csv", "cells", "data", "figures", "files.json", "index.html"),
        *("models.html", "models.js", "pictures", "points.js", "questions", "report.css"),
        "report.js",
    }
    assert len(list(folder.glob("cells/*.html"))) == len(GRID.study().cells())


def test_files_of_an_older_report_go_and_others_stay(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), methods={"beta_vae": (1.0,)}, curves=False)
    store = make_store(grid)
    write_report(store, grid.study())
    before = written(store)
    mine = Path(store.root) / "report" / "figures" / "mine.txt"
    mine.write_text("my own notes")
    without("pictures")(store)
    write_report(store, grid.study())
    gone = set(before) - set(written(store))
    assert gone and all(path.suffix == ".webp" for path in gone)
    assert mine.exists()


def test_every_address_is_a_file_of_the_report_or_a_citation(store: Store) -> None:
    citations = {paper.url for paper in PAPERS.values()}
    images = links = 0
    for path in written(store):
        if path.suffix != ".html":
            continue
        page = Page.alone(path)
        for tag, address in page.addresses:
            name, _, anchor = address.partition("#")
            if address in citations and tag == "a":
                links += 1
            elif (path.name, address) == ("index.html", "../study.json"):
                continue  # the store's
            elif name:
                target = (path.parent / name).resolve()
                assert target.is_file(), f"{path.name}: <{tag}> wants {address}"
                assert target.is_relative_to(Path(store.root) / "report")
                if target.name == "models.html" and anchor:
                    assert chosen_models(target, unescape(anchor)), address
                else:
                    assert not anchor or anchor in Page.alone(target).ids, address
                images += tag == "img"
            else:
                assert anchor in page.ids, f"{path.name}: {address} leads nowhere"
        assert not {"iframe", "object", "embed", "audio", "video", "base"} & set(page.tags)
        assert "@import" not in page.html and "fetch(" not in page.html
        for target in re.findall(r"url\('?([^')]*)'?\)", page.html):
            still = ("img", target) in page.addresses  # a traversal moves from the same file
            assert still or (target.startswith("#") and target[1:] in page.ids)
        assert len(page.ids) == len(set(page.ids)) and page.balanced, path.name
    assert images and links


def test_the_numbers_of_a_figure_are_its_own(store: Store) -> None:
    folder = Path(store.root) / "report"
    cells = sorted(folder.glob("cells/*.html"))
    assert len(cells) == 8
    for path in cells:
        (name,) = re.findall(r'href="../(figures/[^"]*)\.csv"', path.read_text("utf-8"))
        data = pd.read_csv(folder / f"{name}.csv")
        assert path.stem.startswith(
            f"{data['data'][0]}-{data['method'][0]}-{data['strength'][0]:g}"
        )
        assert len(pd.read_parquet(folder / f"{name}.parquet")) == len(data)


def test_every_figure_of_a_page_has_its_own_numbers(store: Store) -> None:
    html = (Path(store.root) / "report/questions/distributions.html").read_text("utf-8")
    names = re.findall(r'href="../(figures/[^"]*)\.csv"', html)
    assert len(names) == len(set(names)) == html.count("<figure id=") == 8
    last = {pd.read_csv(Path(store.root) / "report" / f"{name}.csv").columns[-1] for name in names}
    assert last == {"metric mig", "metric factor_vae", "udr lasso method", "udr lasso cell"}


def test_every_point_leads_to_its_model_or_cell_and_says_its_numbers(store: Store) -> None:
    models = table(store, "models").set_index("model_id")
    mig = headlines(store, "mig").set_index("model_id")["value"]
    folder = Path(store.root) / "report"
    places = 0
    for path in folder.glob("questions/*.html"):
        if not (page := data_of(path, "points")):
            continue
        rows_of = {name: Page.alone(folder / f"cells/{name}.html").ids for name, _ in page["cells"]}
        for model_id, cell, seed in page["models"]:
            assert model_id in rows_of[page["cells"][cell][0]]
            assert models.loc[model_id, "seed"] == seed
        ids = Page.alone(path).ids
        for name, figure in page["figures"].items():
            assert name in ids
            for _, _, place, *values in figure["points"]:
                places += 1
                if place >= 0 and "MIG" in figure["titles"]:
                    value = values[figure["titles"].index("MIG")]
                    assert value == pytest.approx(mig[page["models"][place][0]], rel=1e-3)
    assert places > 4 * 47, "strips, and scatters of two rankings and of two scores"


def test_each_figure_says_which_models_it_covers(store: Store) -> None:
    html = (Path(store.root) / "report/questions/distributions.html").read_text("utf-8")
    lines = re.findall(r'<p class="note covers">(.*?)</p>', html)
    assert len(lines) == 2, "one per data set"
    assert re.sub("<.*?>", "", lines[0]) == (
        "Each figure: 23 of 24 models of dSprites (redrawn); 1 missing: 1 diverged."
    )
    assert lines[1] == "Each figure: 24 models of Color-dSprites (look-alike); none missing."
    address = re.search(r"models.html#(.*?)\"", lines[0])
    assert address
    models = table(store, "models")
    ids = chosen_models(Path(store.root) / "report/models.html", unescape(address[1]))
    assert ids == models.loc[models.status == "diverged", "model_id"].tolist()


def test_the_page_of_a_cell_lists_its_best_models_first(store: Store) -> None:
    ranks = table(store, "ranks")
    ranks = ranks[(ranks.pool == "method") & (ranks.data == "dsprites")]
    of_cell = ranks[(ranks.method == "beta_vae") & (ranks.strength == 1.0)]
    page = Path(store.root) / "report/cells/dsprites-beta_vae-1-redrawn.html"
    ids = re.findall(r'<code id="([0-9a-f]{16})">', page.read_text("utf-8"))
    assert ids == of_cell.sort_values("udr", ascending=False)["model_id"].tolist()


def test_the_first_page_needs_no_other_file_to_be_read(store: Store) -> None:
    page = Page.alone(Path(store.root) / "report" / "index.html")
    assert not {"link", "img", "script"} & set(page.tags)
    assert "style" in page.tags and len(page.html) < 300_000


def test_the_first_page_has_the_findings_with_links_to_their_questions(store: Store) -> None:
    page = Page.alone(Path(store.root) / "report" / "index.html")
    found = re.search(r"Findings (.*?) Questions", page.text)
    assert found
    assert "Do the scores agree with each other? dSprites : the mean over one pair" in found[1]
    assert ("a", "questions/agreement.html") in page.addresses
    assert found[1].startswith("Which strength, which model?"), "what users came for"
    assert found[1].count("Numbers in brackets are 95% intervals") == 1
    assert "Where did the hours and the memory go?" in found[1]


def test_every_model_is_counted(page: Page, store: Store) -> None:
    models = table(store, "models")
    trained = int((models.status == "trained").sum())
    assert trained == 47
    assert f"{trained} trained of 48" in page.text
    assert "1 diverged 0 failed" in page.text
    assert sum(int(row["cells"][1]["value"]) for row in page.rows) == trained


def test_a_study_under_way_says_what_is_left(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), curves=False, pictures=False)
    page = Page.at(write_report(make_store(grid), replace(grid, seeds=5).study()))
    assert "8 trained of 20" in page.text
    assert "12 not run yet" in page.text
    assert "4 of 10" in page.text


def test_medians_and_ranges_are_those_of_a_plain_computation(page: Page, store: Store) -> None:
    tables = [headlines(store, metric) for metric in GRID.metrics]
    ranks = table(store, "ranks").rename(columns={"udr": "value"})
    tables += [ranks[ranks.pool == pool] for pool in ("method", "cell")]
    cells = [
        (data, method, strength)
        for data in GRID.data
        for method, strengths in GRID.methods.items()
        for strength in strengths
    ]
    assert len(page.rows) == len(cells)
    for row, (data, method, strength) in zip(page.rows, cells, strict=True):
        assert (row["set"].split()[0], row["method"]) == (data, method)
        assert f"= {strength:g} " in row["cells"][0]["text"].replace("\n", " ")
        for cell, rows in zip(row["cells"][2:], tables, strict=True):
            of_data = rows[(rows.data == data) & (rows.method == method)]
            values = of_data[of_data.strength == strength]["value"]
            assert float(cell["value"]) == pytest.approx(values.median(), abs=1e-12)
            assert cell["text"].startswith(number(values.median()))
            assert f"{number(values.min())} to {number(values.max())}" in cell["text"]


def test_the_best_median_of_each_data_set_is_marked(page: Page) -> None:
    for data in GRID.data:
        rows = [row for row in page.rows if row["set"].startswith(data + " ")]
        for column in range(2, 6):
            cells = [row["cells"][column] for row in rows]
            top = max(float(cell["value"]) for cell in cells)
            assert [float(cell["value"]) == top for cell in cells] == [c["best"] for c in cells]


def test_best_and_worst_are_the_right_models(page: Page, store: Store) -> None:
    ranks = table(store, "ranks")
    ranks = ranks[ranks.pool == "method"]
    on_page = re.findall(r"(Best|Worst) by UDR.*?model_id ([0-9a-f]{16})", page.text)
    wanted = []
    for data in GRID.data:
        for method in GRID.methods:
            rows = ranks[(ranks.data == data) & (ranks.method == method)]
            wanted.append(("Best", rows.loc[rows.udr.idxmax(), "model_id"]))
            wanted.append(("Worst", rows.loc[rows.udr.idxmin(), "model_id"]))
    # the section's own heading holds "Best and worst by UDR", which the pattern does not match
    assert on_page == wanted


def test_the_pictures_are_the_models_own_in_one_and_three_channels(
    page: Page, store: Store
) -> None:
    pictures = table(store, "pictures")
    folder = Path(store.root) / "report" / "pictures"
    on_page = {address for tag, address in page.addresses if tag == "img"}
    for address in on_page:
        model_id, kind = Path(address).stem.split("-")
        if kind == "latents":  # a traversal with its rows in another order
            continue
        row = pictures[(pictures.model_id == model_id) & (pictures.kind == kind)].iloc[0]
        stored = Image.open(io.BytesIO(row.png)).convert("RGB")
        shown = Image.open(folder / Path(address).name).convert("RGB")
        assert shown.size == stored.size
        assert np.abs(np.asarray(shown, float) - np.asarray(stored, float)).mean() < 3
        assert (folder / Path(address).name).stat().st_size < len(row.png)
    assert on_page
    best = re.search(r"Best by UDR.*?model_id ([0-9a-f]{16}) (.*?)Images", page.text)
    assert best
    row = pictures[(pictures.model_id == best[1]) & (pictures.kind == "traversal")].iloc[0]
    labels = [f"z{z} {number(kl, 2)}" for z, kl in zip(row.order, row.kl, strict=True)]
    assert " ".join(labels) in best[2]


def test_the_page_shows_titles_and_sources_and_no_keys(page: Page) -> None:
    for name in ("dSprites", "Color-dSprites", "β-VAE", "FactorVAE", "MIG", "FactorVAE score"):
        assert name in page.text
    assert "Color-dSprites look-alike" in page.text
    assert "its numbers are not the papers' numbers" in page.text
    words = re.sub(r"The spec, as YAML .*? What was run", "", page.text)
    assert len(words) < len(page.text) and "What was run" in words
    assert not re.search(r"\b(beta_vae|factor_vae|color_dsprites)\b", words)


def test_unknown_names_stand_for_themselves(make_store: MakeStore) -> None:
    methods = {"my_$x$_vae": (0.5,), "beta_vae": (1.0,)}
    grid = Grid(data=("my_$cells$",), methods=methods, metrics=("my_score",))
    grid = replace(grid, sources={"my_$cells$": "user"})
    page = Page.at(write_report(make_store(grid), grid.study()))
    assert "my_$cells$ user" in page.text
    assert "my_$x$_vae, strength = 0.5" in page.text
    assert re.search(r"<text[^>]*>my_\$x\$_vae</text>", page.html), "read as mathematics"
    assert "my_score" in page.text


def test_text_is_escaped(make_store: MakeStore) -> None:
    evil = "<script>alert(\"x\")</script><b a='1'>&amp;"
    grid = replace(GRID, seeds=2, name=evil, about=evil, metrics=(evil,))
    grid = replace(grid, diverged={("dsprites", "beta_vae", 4.0, 1): evil})
    store = make_store(grid)
    page = Page.at(write_report(store, grid.study()))
    assert "<script>alert" not in page.html
    assert "<b a=" not in page.html
    pages = [Page.alone(path) for path in written(store) if path.suffix == ".html"]
    scripts = {one.tags.count("script") for one in pages}
    assert scripts == {0, 1, 3}, "none on the first page, three where all models are"
    assert all("<script>alert" not in one.html and "<b a=" not in one.html for one in pages)
    assert page.text.count(evil) >= 4  # title, heading, about, reason, the metric's name
    assert page.balanced


def test_failures_are_listed_with_their_reasons(page: Page) -> None:
    assert re.search(r"dSprites β-VAE 4 1 diverged 60 loss is not finite at step 61", page.text)


def test_every_published_number_is_on_the_page_and_in_the_table(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), seeds=6, pictures=False, curves=False)
    store = make_store(grid)
    page = Page.at(write_report(store, grid.study()))
    rows = pd.read_csv(store.path("report", "beside-the-papers.csv"))
    assert list(rows.columns[:9]) == [
        *("question", "what", "ours", "published", "place", "n", "why_not"),
        *("difference", "comparable"),
    ], "as in older reports"
    assert list(rows.columns[9:]) == [
        *("deviation", "published_n", "low", "high", "published_low", "published_high"),
        *("difference_low", "difference_high", "grid", "verdict"),
    ]
    assert not rows["comparable"].any() and not rows["verdict"].str.contains("agree|differ").any()
    assert f"{len(rows)} published numbers: " in page.text
    for row in rows.itertuples():
        assert row.what in page.text and row.place in page.text
    computed = rows.dropna(subset=["ours", "published"])
    assert len(computed) > 10 and (computed["low"] < computed["ours"]).sum() > 4
    assert np.allclose(computed["difference"], computed["ours"] - computed["published"])
    assert "not comparable: 120 steps, the papers 300,000" in page.text


def test_models_of_an_older_protocol_are_left_out(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), seeds=3, curves=False, pictures=False)
    both = make_store(grid)
    newer = replace(grid, seeds=2, protocol=2)
    for part in both.parts("models"):  # as the pipeline does, under other keys
        for name in ("models", "scores"):
            both.write_part(name, f"{part}-old", both.read(name, keys=[part]))
    fill(both, newer)
    page = Page.at(write_report(both, newer.study()))
    assert "8 trained of 8" in page.text
    assert "12 models of an older protocol are in the tables but not on this page" in page.text


def test_scores_of_an_older_protocol_are_left_out_and_named(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), metrics=("mig", "irs"), curves=False, pictures=False)
    store = make_store(grid)
    page = Page.at(write_report(store, grid.study()))
    assert "IRS" in page.text and "Older scores" not in page.text
    for part in store.parts("scores"):
        rows = store.read("scores", keys=[part]).to_pylist()
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        store.write_part("scores", part, columns | {"protocol": 1})
    page = Page.at(write_report(store, grid.study()))
    assert "Older scores of IRS are in the tables but not on this page" in page.text
    assert set(read_frames(store, grid.study()).scores["metric"]) == {"mig"}


def test_many_models_are_drawn_as_cells(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), seeds=160, pictures=False, curves=False, pools=("method",))
    page = Page.at(write_report(make_store(grid), grid.study()))
    assert "Each marker is a cell" in page.text
    assert "n = 640" in page.text
    assert len(page.html) < 400_000  # 640 points in each of two panels alone would be 150,000


def test_the_page_is_written_without_torch(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), seeds=6)
    code = (
        "import sys; from infra.store import Store; from tasks.report.page import write_report; "
        "from tasks.study.spec import Study; "
        "write_report(Store(sys.argv[1]), Study.model_validate_json(sys.argv[2])); "
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'torch', 'ray', 'prefect', "
        "'pytorch_lightning', 'pandas'}), 'matplotlib.pyplot' in sys.modules)"
    )
    arguments = [sys.executable, "-c", code, make_store(grid).uri, grid.study().model_dump_json()]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=250, check=True)
    assert done.stdout.strip() == "['pandas'] False"


def test_the_same_tables_give_the_same_page(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",))
    store = make_store(grid)
    pages = [Page.at(write_report(store, grid.study())).html for _ in range(2)]
    first, second = (re.sub(r"(page made|Made) [^<]*", "", html) for html in pages)
    assert first == second


def test_any_list_of_questions_is_a_page(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), curves=False, pictures=False)
    store = make_store(grid)
    index = Page.alone(Path(write_report(store, grid.study(), ["ranking", "run", "failures"])))
    menu = index.html[index.html.index("<nav") : index.html.index("</nav>")]
    assert re.findall(r'<a href="(.*?)"', menu) == [
        "questions/ranking.html",
        "questions/run.html",
        "data/dsprites-redrawn.html",
        "models.html",
    ]
    run = Page.alone(Path(store.root) / "report" / "questions" / "run.html")
    assert run.ids == ["run", "failures"]


def test_a_section_without_an_answer_says_so_once(make_store: MakeStore) -> None:
    grid = Grid(data=("dsprites",), curves=False, pictures=False)
    store = make_store(grid)
    without("ranks")(store)
    text = Page.at(write_report(store, grid.study())).text
    assert "There is no ranking to judge." in text and "No curve" not in text


def test_what_was_read_of_the_users_own_files_is_in_the_head(make_store: MakeStore) -> None:
    grid = Grid(data=("photos", "dsprites"), sources={"photos": "user"})
    grid = replace(grid, methods={"beta_vae": (1.0,)}, curves=False, pictures=False)
    facts = ReadFacts(pictures=208, channels=3, ignored=4)
    photos = DataChoice(name="photos", folder="/my <photos>", read=facts)
    study = grid.study()
    study = study.model_copy(update={"data": (photos, *study.data[1:])})
    page = Page.at(write_report(make_store(grid), study))
    assert page.text.count("208 pictures, 3 channels, of /my <photos> (4 files ignored)") == 1
