"""Three models of each band of UDR, how alike they are, and their latents in their own order."""

from __future__ import annotations

import io
from itertools import permutations

import numpy as np
import pytest
from PIL import Image

from infra.store import Store
from infra.tables import AXES
from tasks.report.questions import Portraits, Table
from tasks.report.questions.traversals_by_udr import BANDS, BANDS_WITHOUT_FACTORS, answer, choices
from tasks.report.results import Results, read_results
from tests.tasks.report.conftest import Grid, MakeStore, blank_column

GRID = Grid(
    data=("dsprites",), methods={"beta_vae": (1.0, 4.0)}, seeds=6, curves=False, pools=("method",)
)
# two in the high band, with exactly 0.4 and 0.3 in the middle one
UDR = [0.41, 0.9, 0.4, 0.3, 0.35, 0.33, 0.31, 0.29, 0.1, 0.2, 0.0, None]


def with_udr(make_store: MakeStore, grid: Grid = GRID, udr: list[float | None] = UDR) -> Results:
    """The store of the grid, whose models have these values of UDR in their order."""
    store = make_store(grid)
    (part,) = store.parts("ranks")
    rows = store.read("ranks", keys=[part]).to_pylist()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    store.write_part("ranks", part, columns | {"udr": udr})
    return read_results(store, grid.study())


def plant_pairs(store: Store, results: Results, split: bool) -> dict[tuple[str, str], float]:
    """UDR of each ordered pair: regressor's place / 100 + target's place / 1000."""
    ids = list(results.models["model_id"])
    cells = [f"dsprites-beta_vae-{s:g}" for s in results.models["strength"]]
    known = {
        (one, other): a / 100 + b / 1000 for (a, one), (b, other) in permutations(enumerate(ids), 2)
    }
    first = store.read("models").to_pylist()[0]
    keys = ("data", "source", "method", "strength", *AXES, "seed", "protocol")
    parts: dict[str, list[tuple[str, str]]] = {}
    of = dict(zip(ids, cells, strict=True))
    for one, other in known:
        name = "~".join(("lasso", *sorted((of[one], of[other])))) if split else "lasso~dsprites-all"
        parts.setdefault(name, []).append((one, other))
    for name, pairs in parts.items():
        values = [known[pair] for pair in pairs]
        same = {key: [first[key]] * len(pairs) for key in keys}
        ends = {"regressor_id": [a for a, _ in pairs], "model_id": [b for _, b in pairs]}
        more = {"similarity": ["lasso"] * len(pairs), "udr": values, "udr_eq2": values}
        store.write_part("pairs", name, {**same, **ends, **more})
    return known


@pytest.mark.parametrize("split", [True, False])
def test_three_of_each_band_are_drawn_and_their_pairs_averaged(
    make_store: MakeStore, split: bool
) -> None:
    results = with_udr(make_store)
    known = plant_pairs(results.store, results, split)
    assert results.udr
    drawn = choices(results, results.udr)
    assert [(c.band, c.count, len(c.drawn)) for c in drawn] == [
        (BANDS[0], 2, 2),
        (BANDS[1], 5, 3),
        (BANDS[2], 4, 3),
    ]
    for choice in drawn:
        udr = choice.drawn[results.udr.id]
        assert choice.band.holds(udr).all() and udr.is_monotonic_decreasing
        pairs = [known[pair] for pair in permutations(choice.drawn["model_id"], 2)]
        assert choice.alike == pytest.approx(np.mean(pairs))
    again = choices(read_results(results.store, GRID.study()), results.udr)
    assert [list(c.drawn["model_id"]) for c in again] == [list(c.drawn["model_id"]) for c in drawn]


def test_small_bands_say_so_and_unread_pairs_are_no_number(make_store: MakeStore) -> None:
    udr: list[float | None] = [None] * 12
    udr[3:6] = [0.8, 0.2, 0.1]
    _, table, portraits = answer(with_udr(make_store, udr=udr)).content
    assert isinstance(table, Table) and isinstance(portraits, Portraits)
    cells = [[cell.text for cell in row.cells[3:]] for row in table.rows]
    assert [row[0] for row in cells] == ["1", "0", "2"] and [row[3] for row in cells] == ["–"] * 3
    one, two = portraits.groups
    assert one.about.startswith("The only model of this band. Latents switched off, of 10:")
    assert two.about.startswith("All 2 models") and two.about.endswith("with each other.")
    off = [10 - int(p.facts[3][1].split()[0]) for p in two.portraits]
    assert f"of 10: {off[0]}, {off[1]}." in two.about


def test_pictures_without_factors_have_two_bands(make_store: MakeStore) -> None:
    grid = Grid(
        **{**vars(GRID), "data": ("mine",), "sources": {"mine": "user"}},
    )
    results = with_udr(make_store, grid)
    assert results.udr
    assert {c.band for c in choices(results, results.udr)} == set(BANDS)
    blank_column(results.store, "scores", "value", None)
    results = read_results(results.store, grid.study())
    assert results.udr
    bands = choices(results, results.udr)
    assert [(c.band, c.count) for c in bands] == [
        (BANDS_WITHOUT_FACTORS[0], 1),
        (BANDS_WITHOUT_FACTORS[1], 4),
    ]


def test_rows_are_in_the_order_of_the_latents(make_store: MakeStore) -> None:
    results = with_udr(make_store)
    order = [2, 0, 1]
    grey = np.full((3 * 66 - 2, 9 * 66 - 2), 255, np.uint8)
    for row, latent in enumerate(order):
        grey[row * 66 : row * 66 + 64] = 60 * latent
    file = io.BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    for column, value in (("png", file.getvalue()), ("order", order), ("kl", [5.0, 3.0, 0.001])):
        blank_column(results.store, "pictures", column, value)
    *_, portraits = answer(results).content
    assert isinstance(portraits, Portraits)
    picture = portraits.groups[0].portraits[0].traversal
    assert picture and (picture.columns, picture.width, picture.height) == (9, 592, 196)
    assert picture.rows == ((0, 3.0), (1, pytest.approx(0.001)), (2, 5.0))
    pixels = np.asarray(Image.open(io.BytesIO(picture.content)).convert("L"))
    assert [round(pixels[66 * r + 32, 32] / 60) for r in range(3)] == [0, 1, 2]
