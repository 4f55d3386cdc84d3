"""The report in Chromium: the table of all models, and nothing that is fetched or fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.benchmarks.browser import missing, page
from infra.store import Store
from tasks.report.page import write_report
from tests.tasks.report.conftest import Grid, fill

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GRID = Grid(
    methods={"beta_vae": (1.0, 4.0), "factor_vae": (10.0,)},
    seeds=200,
    curves=False,
    metrics=("mig",),
    diverged={("dsprites", "beta_vae", 4.0, 7): "loss is not finite at step 61"},
)
CHOOSE = """name => {
  const list = document.querySelector(`select[name="${name}"]`);
  list.selectedIndex = 2;
  list.dispatchEvent(new Event("input", { bubbles: true }));
}"""

COLOURS = "cells => cells.map(cell => getComputedStyle(cell).backgroundColor)"
SIZE = "svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    if reason := missing():
        pytest.skip(reason)
    made = Store(tmp_path / "store")
    fill(made, GRID)
    write_report(made, GRID.study())
    return made


def test_models_are_filtered_and_sorted_and_only_those_in_sight_are_drawn(
    store: Store, tmp_path: Path
) -> None:
    trouble: list[str] = []
    with page(tmp_path / "profile") as opened:
        opened.on("pageerror", lambda error: trouble.append(str(error)))
        opened.on("console", lambda said: trouble.append(said.text) if said.type == "error" else 0)
        opened.goto(f"file://{store.path('report', 'models.html')}")
        assert opened.inner_text("#model-count") == "1,200 of 1,200 models"
        assert opened.locator("#model-table .row").count() < 60
        opened.evaluate(CHOOSE, "Method")
        assert opened.inner_text("#model-count") == "400 of 1,200 models"
        opened.get_by_role("button", name="MIG").click()
        rows = [row.split("\n") for row in opened.locator("#model-table .row").all_inner_texts()]
        values = [float(row[-3]) for row in rows]
        table = store.read("scores").to_pandas()
        headlines = table[(table.part == "score") & table.factor.isna()]
        of_method = headlines[headlines.method == "factor_vae"]["value"]
        best = of_method.sort_values(ascending=False).head(len(values))
        assert values == pytest.approx(best.tolist(), abs=6e-4)
        opened.evaluate(CHOOSE, "Status")
        assert opened.inner_text("#model-count") == "0 of 1,200 models"
        first = str(rows[0][0]).split()[0]
        opened.goto(f"file://{store.path('report', 'models.html')}#model={first}")
        opened.reload()
        assert opened.inner_text("#model-count") == "1 of 1,200 models"
        opened.get_by_role("link", name=first).click()
        assert opened.locator(f"code[id='{first}']").count() == 1, "the page of its cell"
    assert trouble == []


def test_points_and_links_lead_to_models_cells_and_figures(store: Store, tmp_path: Path) -> None:
    trouble: list[str] = []
    folder = f"file://{store.path('report')}"
    with page(tmp_path / "profile") as opened:
        opened.on("pageerror", lambda error: trouble.append(str(error)))
        opened.goto(f"{folder}/questions/distributions.html")
        data = json.loads(str(opened.locator("#points").text_content()))
        name, figure = next(iter(data["figures"].items()))
        left, top, place, *_ = figure["points"][1]
        opened.locator(f"[id='{name}'] svg").click(
            position=at(opened, name, left, top),
            force=True,  # the link that appears under the pointer is what takes the click
        )
        opened.wait_for_url(f"**/cells/{data['cells'][-1 - place][0]}.html")

        opened.goto(f"{folder}/questions/distributions.html")
        plot = opened.locator(f"[id='{name}'] .plot")
        plot.press("ArrowRight")
        plot.press("Enter")
        opened.wait_for_url("**/cells/dsprites-beta_vae-1-redrawn.html")
        model = str(opened.locator("#cell-models code").nth(3).get_attribute("id"))
        opened.goto(f"{folder}/cells/dsprites-beta_vae-1-redrawn.html#{model}")
        row = opened.locator("#cell-models tr:has(:target)")
        rows = opened.locator("#cell-models tbody tr td:nth-child(2)")
        colours = rows.evaluate_all(COLOURS)
        assert len(colours) == 200 and len(set(colours)) == 2
        assert colours.count(colours[3]) == 1, "its own row only"
        assert row.get_by_role("link", name="log").get_attribute("href") == (
            f"../../models/{model}/log.txt"
        )

        opened.goto(f"{folder}/models.html#data=dsprites&status=diverged")
        assert opened.inner_text("#model-count") == "1 of 1,200 models"
        opened.goto(f"{folder}/models.html#cell=dsprites-beta_vae-4-redrawn")
        opened.reload()
        assert "200 of 1,200 models of the cell" in opened.inner_text("#model-count")
        opened.evaluate(CHOOSE, "Status")
        assert opened.url.endswith("#cell=dsprites-beta_vae-4-redrawn&status=diverged")
    assert trouble == []


def at(opened: Any, name: str, left: float, top: float) -> dict[str, float]:
    """A place of a drawing, in pixels of its element."""
    size = opened.locator(f"[id='{name}'] svg").evaluate(SIZE)
    return {"x": left * size, "y": top * size}


def test_no_page_asks_another_host_or_fails(store: Store, tmp_path: Path) -> None:
    asked: list[str] = []
    trouble: list[str] = []
    with page(tmp_path / "profile") as opened:
        opened.on("request", lambda request: asked.append(request.url))
        opened.on("pageerror", lambda error: trouble.append(str(error)))
        folder = Path(store.root) / "report"
        for path in [*folder.glob("*.html"), *folder.glob("questions/*.html")]:
            opened.goto(f"file://{path}")
            wide = opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert wide, f"{path.name} is wider than the window"
        opened.goto(f"file://{folder / 'questions' / 'papers.html'}")
        every = opened.locator("tr[data-grid]").count()
        opened.select_option("select[name=grid]", "fewer steps")
        left = opened.locator("tr[data-grid]:not([hidden])").count()
        assert 0 < left == opened.locator("tr[data-grid='fewer steps']").count() < every
        assert opened.locator("details.set[hidden]").count(), "tables without such rows"
    assert trouble == []
    assert {address.split(":")[0] for address in asked} <= {"file", "data"}
