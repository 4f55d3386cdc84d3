"""What `tolstoy report` costs for a finished study of 12,600 models, against the aims.

- The study is that of Locatello et al. 2019 with every metric here, and UDR by two similarities in
  the pools cell and method: 7.5 million pairs. Its numbers are made up (made_up.py).
- Ours: the command in its own process; then its pages in a browser that has shown a page before.
  Where playwright or Chromium is missing, those rows are left out and a note says so.
- `size` is the number of models, to the next multiple of the 252 cells, at least two of each.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from flows.benchmarks import Row, browser
from flows.benchmarks.made_up import fill
from infra.peak_memory import largest_bytes
from infra.store import Store
from metrics import OF_ALL_DATA
from tasks.study.reading import read_study
from tasks.study.spec import Study

CHANGED = (
    f"metrics=[{', '.join(OF_ALL_DATA)}]",
    "udr={similarities: [lasso, spearman], pools: [cell, method]}",
)
SECONDS, GIB, FIRST_PAGE, OPENED, CHANGED_VIEW = 180.0, 2.0, 3.0, 1.0, 100.0  # the aims
TURNS = 5  # of filtering, and of sorting
# Milliseconds until a table of models that is filtered or sorted has its rows.
FILTER = """() => {
  const list = document.querySelector('select[name="Method"]');
  const began = performance.now();
  list.selectedIndex = 2;
  list.dispatchEvent(new Event("input", { bubbles: true }));
  document.body.offsetHeight;
  return performance.now() - began;
}"""
SORT = """() => {
  document.getElementById("model-filters").querySelectorAll("select").forEach(list => {
    list.selectedIndex = 0;
    list.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const buttons = document.querySelectorAll("#model-table .head button");
  const began = performance.now();
  buttons[buttons.length - 1].click();
  document.body.offsetHeight;
  return performance.now() - began;
}"""


def study(models: int | None) -> Study:
    """The whole grid, or one with fewer seeds."""
    whole = read_study("locatello-2019", CHANGED)
    if models is None:
        return whole
    cells = len(whole.data) * sum(map(len, whole.methods.values()))
    return whole.model_copy(update={"seeds": max(2, -(-models // cells))})


def measure(size: int | None = None) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        wanted = study(size)
        fill(store, wanted)
        models = sum(len(cell.models) for cell in wanted.cells())
        note = f"{models} models; against the aim"
        rows = [_below(*measured, note) for measured in _command(store)]
        report = Path(store.path("report"))
        page = (report / "index.html").stat().st_size / 1e6
        rows.append(_below("first page", page, FIRST_PAGE, "MB", note))
        if reason := browser.missing():
            rows[-1] = _below("first page", page, FIRST_PAGE, "MB", f"{note}; not opened: {reason}")
            return rows
        return rows + [_below(*measured, note) for measured in _opened(report, Path(folder))]


def _below(name: str, ours: float, aim: float, unit: str, note: str) -> Row:
    return Row(name, ours, aim, unit, aim / ours, note)


def _command(store: Store) -> list[tuple[str, float, float, str]]:
    """Name, number, aim and unit of what the command took."""
    began = time.perf_counter()
    running = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "report", store.uri], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(running.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise RuntimeError(f"tolstoy report ended with {os.waitstatus_to_exitcode(status)}")
    return [
        ("report", seconds, SECONDS, "s"),
        ("its processor time", used.ru_utime + used.ru_stime, SECONDS, "s"),
        ("its memory", largest_bytes(used) / 2**30, GIB, "GiB"),
    ]


def _opened(report: Path, folder: Path) -> list[tuple[str, float, float, str]]:
    with browser.page(folder / "profile") as page:
        page.goto(f"file://{report}/questions/run.html")
        began = time.perf_counter()
        page.goto(f"file://{report}/index.html")
        seconds = time.perf_counter() - began
        page.goto(f"file://{report}/models.html")
        page.locator("#model-table .row").first.wait_for()
        chosen, sorted_by = (
            statistics.median(page.evaluate(script) for _ in range(TURNS))
            for script in (FILTER, SORT)
        )
    return [
        ("first page opens", seconds, OPENED, "s"),
        ("models, filtered", chosen, CHANGED_VIEW, "ms"),
        ("models, sorted", sorted_by, CHANGED_VIEW, "ms"),
    ]
