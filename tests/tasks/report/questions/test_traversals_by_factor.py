"""Figure 6 of Eastwood and Williams 2018: rows of a traversal in the order of what they capture."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from tasks.report.page import write_report
from tasks.report.questions import Portraits
from tasks.report.questions.traversals_by_factor import LEAST, answer, captured
from tasks.report.results import read_results
from tests.tasks.report import teapots
from tests.tasks.report.conftest import MakeStore, blank_column, without
from tests.tasks.report.parsed import Page
from tests.tasks.report.questions.test_kinds_of_models import GRID, LATENTS, results_of


def test_codes_stand_by_factor_then_by_importance() -> None:
    matrix = np.array(
        [
            [0.00, 0.60, 0.10],  # the second factor, most
            [0.01, 0.02, 0.01],  # nothing: all below a twentieth
            [0.90, 0.00, 0.00],  # the first
            [0.00, 0.30, 0.20],  # the second, less
            [0.00, 0.00, 0.00],  # dead
            [0.09, 0.08, 0.69],  # the third
        ]
    )
    assert captured(matrix) == [(2, 0), (0, 1), (3, 1), (5, 2), (1, None), (4, None)]


@settings(deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(0, 9)))
def test_every_code_has_one_row(matrix: np.ndarray) -> None:
    rows = captured(matrix)
    assert sorted(latent for latent, _ in rows) == list(range(len(matrix)))
    factors = [factor for _, factor in rows if factor is not None]
    assert factors == sorted(factors)
    assert all(factor is None for _, factor in rows[len(factors) :])
    for latent, factor in rows[: len(factors)]:
        assert factor is not None and matrix[latent, factor] == matrix[latent].max() > 0
        assert matrix[latent, factor] >= LEAST * matrix[:, factor].sum() * (1 - 1e-9)


@pytest.mark.parametrize("has_kl", [True, False])
def test_rows_of_the_picture_are_those_of_their_codes(make_store: MakeStore, has_kl: bool) -> None:
    """Each row of the stored picture is as bright as its latent's number."""
    grid = replace(GRID, methods={"beta_vae" if has_kl else "infogan": (6.0,)}, seeds=1)
    store = make_store(grid)
    order = [3, 1, 2, 0, 4, 9, 8, 7, 6, 5] if has_kl else list(range(LATENTS))
    grey = np.full((LATENTS * 66 - 2, 9 * 66 - 2), 255, np.uint8)
    for row, latent in enumerate(order):
        grey[row * 66 : row * 66 + 64] = 25 * latent
    file = io.BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    for column, value in (("png", file.getvalue()), ("order", order)):
        blank_column(store, "pictures", column, value)
    (_, portraits) = answer(read_results(store, grid.study())).content
    assert isinstance(portraits, Portraits)
    (portrait,) = portraits.groups[0].portraits
    method = next(iter(grid.methods))
    wanted = captured(teapots.importance("dci_forest", method, 6.0, 0, LATENTS))
    assert portrait.traversal and portrait.traversal.name.endswith("-factors.webp")
    assert [latent for latent, *_ in portrait.rows] == [latent for latent, _ in wanted]
    assert [(text, pale) for _, text, pale in portrait.rows] == [
        ("", True) if factor is None else (teapots.FACTORS[factor], False) for _, factor in wanted
    ]
    with Image.open(io.BytesIO(portrait.traversal.content)) as picture:
        pixels = np.asarray(picture.convert("L"))
    step = pixels.shape[0] / LATENTS
    shades = [round(float(pixels[int(step * (row + 0.4)), 20]) / 25) for row in range(LATENTS)]
    assert shades == [latent for latent, _ in wanted]


def test_the_page_names_factors_and_shows_latents_without_kl(make_store: MakeStore) -> None:
    grid = replace(GRID, seeds=1)
    address = write_report(make_store(grid), grid.study(), ["traversals_by_factor", "pictures"])
    page = Page.at(address)
    assert "Latent and factor of each row" in page.attributes
    assert "Latent and KL of each row" in page.attributes  # of the VAEs
    assert "Latent of each row" in page.attributes  # of PCA and InfoGAN
    assert not re.search(r"strength 0(?!\.)|= 0 |KL –", page.everything_readable)


def test_what_it_lacks_is_said(make_store: MakeStore) -> None:
    assert answer(results_of(make_store, replace(GRID, metrics=("mig",)))).is_missing
    store = make_store(GRID)
    without("pictures")(store)
    assert answer(read_results(store, GRID.study())).is_missing
