"""Which pairs are wanted, which are missing, and how they are shared out: without any store."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.study.model import Model
from tasks.study.pair_parts import (
    CUT,
    NO_MODELS,
    PairPart,
    cells_of,
    chosen_seeds,
    models_in,
    tiles,
    wanted_parts,
)
from tasks.study.spec import Udr
from tests.tasks.made_models import SMALL

FIRST = SMALL


def grid(methods=("beta_vae", "factor_vae"), strengths=(1.0, 4.0), seeds=3) -> list[Model]:
    return [
        replace(FIRST, method=method, strength=strength, seed=seed)
        for method in methods
        for strength in strengths
        for seed in range(seeds)
    ]


def unordered(parts: list[PairPart]) -> Counter[frozenset[str]]:
    """Pairs of models, and how many parts have each."""
    return Counter(
        frozenset((a.id, b.id))
        for part in parts
        for a, b in (
            itertools.combinations(part.one, 2)
            if part.within
            else itertools.product(part.one, part.other)
        )
    )


@pytest.mark.parametrize(
    ("pools", "alike"),
    [
        (("cell",), lambda a, b: a.cell == b.cell),
        (("method",), lambda a, b: a.method == b.method),
        (("cell", "method"), lambda a, b: a.method == b.method),
        (("data", "cell"), lambda a, b: True),
    ],
)
def test_every_pair_that_a_pool_has_is_in_one_part(pools, alike):
    models = grid()
    wanted = unordered(wanted_parts(models[::-1], Udr(pools=pools)))
    pairs = itertools.combinations(models, 2)
    assert wanted == Counter(frozenset((a.id, b.id)) for a, b in pairs if alike(a, b))
    twice = Udr(pools=pools, similarities=("lasso", "spearman"))
    assert unordered(wanted_parts(models, twice)) == Counter(dict.fromkeys(wanted, 2))


def test_the_papers_all_to_all_takes_the_first_seeds():
    models = grid(seeds=5)
    some = [model for model in models if model.seed != 1]  # which has not been trained
    assert {m.seed for m in models if m.id in chosen_seeds(some[::-1], 2)} == {0, 2}
    wanted = unordered(wanted_parts(some, Udr(pools=("cell", "data"), seeds_per_cell=2)))
    chosen = [model for model in some if model.seed in (0, 2)]
    expected = {frozenset((a.id, b.id)) for a, b in itertools.combinations(chosen, 2)} | {
        frozenset((a.id, b.id)) for a, b in itertools.combinations(some, 2) if a.cell == b.cell
    }
    assert wanted == Counter(expected)


def test_a_cell_of_one_model_has_no_pairs_of_its_own():
    (part,) = wanted_parts(grid(("beta_vae",), (1.0, 4.0), 1), Udr())
    assert part.cells == ("dsprites-beta_vae-1", "dsprites-beta_vae-4")


def test_a_part_is_named_by_similarity_and_cells():
    part = wanted_parts(grid(), Udr(similarities=("spearman",)))[1]
    assert part.name == "spearman~dsprites-beta_vae-1~dsprites-beta_vae-4"


def test_long_names_are_cut_and_stay_apart():
    data = "x" * 150
    models = [replace(model, data=data) for model in grid(strengths=(1.0, 4.0, 6.0))]
    names = [part.name for part in wanted_parts(models, Udr(pools=("data",)))]
    assert len(set(names)) == len(names) == 21
    assert max(map(len, names)) <= 180 and all(name.startswith("lasso~xxx") for name in names)


def test_a_name_says_its_cells_unless_it_is_cut():
    short, long = (
        PairPart("lasso", (replace(FIRST, data=length * "x"),), (replace(FIRST, data="y"),))
        for length in (20, 170)
    )
    assert cells_of(short.name) == short.cells
    assert cells_of(long.name) is None
    assert long.name.startswith(f"lasso~{170 * 'x'}"[:CUT])


@given(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)), st.booleans())
def test_stored_pairs_and_missing_pairs_make_up_the_part(one, other, within):
    models = grid(seeds=6)
    side, across = tuple(models[:6]), tuple(models[6:12])
    part = PairPart("lasso", side, side if within else across)
    ids = [frozenset(side[i].id for i in one)]
    ids.append(ids[0] if within else frozenset(across[i].id for i in other))
    had = {frozenset(pair) for pair in itertools.product(*ids) if len(set(pair)) == 2}
    counts = Counter(
        frozenset((a.id, b.id))
        for block in part.missing((ids[0], ids[1]))
        for a, b in (
            itertools.combinations(block[0], 2)
            if block[0] == block[1]
            else itertools.product(*block)
        )
    )
    assert set(counts.values()) <= {1} and not counts.keys() & had
    assert counts.keys() | had == unordered([part]).keys()


def test_a_part_records_its_models():
    part = wanted_parts(grid(), Udr())[1]
    made_from = part.made_from(0.01)
    assert models_in(made_from, 0.01) == tuple(
        frozenset(m.id for m in s) for s in (part.one, part.other)
    )
    assert part.missing(models_in(made_from, 0.01)) == []
    assert (
        models_in(made_from, 0.02)
        == models_in("", 0.01)
        == models_in("3fa9", 0.01)
        == models_in("[]", 0.01)
        == NO_MODELS
    )
    assert part.missing(NO_MODELS) == [(part.one, part.other)]
    smaller = part.without([part.one[0].id])
    assert (len(smaller.one), len(smaller.other)) == (2, 3)
    assert smaller.missing(models_in(made_from, 0.01)) == []
    assert part.missing(models_in(smaller.made_from(0.01), 0.01)) == [(part.one[:1], part.other)]


@pytest.mark.parametrize("most", [1, 150, 400, 10**6])
def test_tiles_hold_every_part_once_and_few_models(most):
    models = grid([f"m{i}" for i in range(6)], range(6), 50)
    parts = wanted_parts(models, Udr(pools=("data",), similarities=("lasso", "spearman")))
    all_tiles = tiles(parts, most)
    assert Counter(part.name for tile in all_tiles for part in tile) == Counter(
        p.name for p in parts
    )
    for tile in all_tiles:
        for side in ("one", "other"):
            inside = {model.id for part in tile for model in getattr(part, side)}
            assert len(inside) <= max(most, 50)
    cells = {1: 36, 150: 12, 400: 5, 10**6: 1}[most]
    assert len(all_tiles) == cells * (cells + 1) // 2
