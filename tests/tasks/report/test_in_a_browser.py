"""The report in Chromium: the table of all models, and nothing that is fetched or fails."""

from __future__ import annotations

from pathlib import Path

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
