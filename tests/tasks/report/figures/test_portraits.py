"""Pictures are a few kilobytes each, and traversals move, from one and the same file."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from tasks.report.extra_files import ExtraFiles
from tasks.report.figures.axes import Drawing
from tasks.report.figures.portraits import LARGEST, small_file
from tasks.report.page import write_report
from tasks.report.questions import Figure
from tests.tasks.report.conftest import Grid, MakeStore
from tests.tasks.report.parsed import Page

GRID = Grid(data=("cars3d",), methods={"beta_vae": (4.0,)}, seeds=3, metrics=("mig",), curves=False)


def test_every_picture_of_a_report_is_a_few_kilobytes_and_moves_from_its_own_file(
    make_store: MakeStore,
) -> None:
    store = make_store(GRID)
    folder = Path(write_report(store, GRID.study(), ["pictures", "traversals_by_udr"])).parent
    pictures = list(folder.glob("pictures/*"))
    assert pictures and all(file.stat().st_size <= LARGEST for file in pictures)
    page = Page.alone(folder / "questions" / "pictures.html")
    moving = re.findall(
        r'class="moves" tabindex="0".*?<img src="(.*?)".*?<span style="--columns:9;'
        r"background-image:url\('(.*?)'\)",
        page.html,
        re.DOTALL,
    )
    assert len(moving) == page.html.count('class="traversal"') > 0
    assert all(still == played for still, played in moving)
    assert "reach it with the tab key" in page.text
    style = (folder / "report.css").read_text()
    (rule,) = re.findall(r"@media ([^{]*)\{\s*\.moves:is\(:hover,:focus\) span", style)
    assert rule == "screen and (prefers-reduced-motion:no-preference)", "print and rest are still"


def test_noise_is_drawn_smaller_and_other_pictures_as_large_as_they_are() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (658, 592, 3), dtype=np.uint8)
    shade = np.tile(np.linspace(0, 255, 592).astype(np.uint8)[:, None], (658, 1, 3))
    for pixels, size in ((0.2 * noise, (296, 329)), (shade, (592, 658))):
        content = small_file(Image.fromarray(pixels.astype(np.uint8)))
        assert Image.open(io.BytesIO(content)).size == size


def test_the_numbers_of_a_small_figure_are_a_small_file() -> None:
    names = [f"{place:016x}" for place in range(24)]
    data = pd.DataFrame({"model_id": names, "udr": np.linspace(0, 1, 24), "seed": range(24)})
    data["method"], data["group"] = "beta_vae", None
    files = ExtraFiles()
    name = files.figure(Figure("", "", Drawing("", 1, ""), data), "page")  # type: ignore[arg-type]
    content = files.contents[f"{name}.parquet"]
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(content)), data, check_dtype=False)
    assert len(content) < 2500
