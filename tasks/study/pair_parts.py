"""Which pairs of models UDR needs and which the store lacks: parts of `pairs`, and tiles of parts.

A part holds one similarity between all models of a cell and all of another, in both directions, or
within one cell. It records its models, so a cell that grows costs only its new models. It does not
depend on pools or the number of comparisons: these choose among the pairs in the store.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from infra.store import Store
from tasks.study.model import Model
from tasks.study.spec import Udr

TILE = 400  # models of whose codes a task holds on either side: 160 MB of 10,000 × 10 float32
SEPARATOR = "~"  # no cell's name has it
# Characters of a part's name: file systems take 255, of which a temporary name has 46. Longer names
# are cut, and a digest of the whole follows.
LONGEST, DIGEST = 180, 32
CUT = LONGEST - DIGEST - len(SEPARATOR)

Sides = tuple[frozenset[str], frozenset[str]]  # ids of the models on the two sides of a part
NO_MODELS: Sides = (frozenset(), frozenset())


def cells_of(part: str) -> tuple[str, ...] | None:
    """The cells that a part's name has; None if it is cut."""
    return tuple(part.split(SEPARATOR)[1:]) if len(part) < LONGEST else None


@dataclass(frozen=True)
class PairPart:
    """One part of `pairs`: the models of two cells, or of one cell twice."""

    similarity: str
    one: tuple[Model, ...]
    other: tuple[Model, ...]

    @property
    def within(self) -> bool:
        return self.one[0].cell == self.other[0].cell

    @property
    def cells(self) -> tuple[str, str]:
        return self.one[0].cell, self.other[0].cell

    @property
    def name(self) -> str:
        name = SEPARATOR.join((self.similarity, *self.cells))
        if len(name) <= LONGEST:
            return name
        digest = hashlib.sha256(name.encode()).hexdigest()[:DIGEST]
        return name[:CUT] + SEPARATOR + digest

    @property
    def models(self) -> tuple[Model, ...]:
        return self.one if self.within else (*self.one, *self.other)

    def made_from(self, threshold: float) -> str:
        sides = [[model.id for model in side] for side in (self.one, self.other)]
        return json.dumps({"kl_threshold": threshold, "models": sides})

    def without(self, model_ids: Iterable[str]) -> PairPart:
        ids = set(model_ids)
        one, other = (tuple(m for m in side if m.id not in ids) for side in (self.one, self.other))
        return PairPart(self.similarity, one, other)

    def missing(self, stored: Sides) -> list[tuple[tuple[Model, ...], tuple[Model, ...]]]:
        """What to add to a stored part of fewer models: blocks of models against models.

        The stored pairs and the blocks together have each pair of the part once.
        """
        stored_one, stored_other = stored
        new = tuple(model for model in self.one if model.id not in stored_one)
        old = tuple(model for model in self.one if model.id in stored_one)
        if self.within:
            blocks = [(new, new), (old, new)]
        else:
            new_other = tuple(model for model in self.other if model.id not in stored_other)
            blocks = [(new, self.other), (old, new_other)]
        return [
            (one, other)
            for one, other in blocks
            if one and other and not (one == other and len(one) == 1)
        ]


def models_in(made_from: str, threshold: float) -> Sides:
    """The models of a part with this `made_from`; none where its threshold is another."""
    try:
        facts = json.loads(made_from)
        one, other = facts["models"]
        if facts["kl_threshold"] != threshold:
            return NO_MODELS
    except (ValueError, KeyError, TypeError):  # not written by this program
        return NO_MODELS
    return frozenset(one), frozenset(other)


def stored_models(store: Store, part: PairPart, threshold: float) -> Sides:
    """The models of the part as the store has it."""
    return models_in(store.part_made_from("pairs", part.name), threshold)


def missing_parts(store: Store, models: Sequence[Model], udr: Udr) -> list[PairPart]:
    """The parts that lack a pair of these models."""
    stored = set(store.parts("pairs"))
    return [
        part
        for part in wanted_parts(models, udr)
        if part.name not in stored or part.missing(stored_models(store, part, udr.kl_threshold))
    ]


def pairs_in(parts: Iterable[PairPart]) -> int:
    """The rows of these parts: ordered pairs of different models, for each similarity."""
    return sum(_rows(part.one, part.other) for part in parts)


def missing_pairs(store: Store, models: Sequence[Model], udr: Udr) -> int:
    """How many rows the store lacks of the pairs of these models."""
    return sum(
        _rows(one, other)
        for part in missing_parts(store, models, udr)
        for one, other in part.missing(stored_models(store, part, udr.kl_threshold))
    )


def _rows(one: Sequence[Model], other: Sequence[Model]) -> int:
    return len(one) * (len(one) - 1) if one == other else 2 * len(one) * len(other)


def wanted_parts(models: Sequence[Model], udr: Udr) -> list[PairPart]:
    """The parts that these trained models of one data set need for these pools."""
    cells: dict[str, list[Model]] = {}
    for model in sorted(models, key=lambda model: (model.cell, model.seed)):
        cells.setdefault(model.cell, []).append(model)
    all_models = {name: tuple(members) for name, members in cells.items()}
    first_seeds = {name: members[: udr.seeds_per_cell] for name, members in all_models.items()}
    parts = []
    for one, other in _pairs_of_cells(all_models, udr.pools):
        side = all_models if one == other and "cell" in udr.pools else first_seeds
        if one != other or len(side[one]) > 1:
            parts += [PairPart(s, side[one], side[other]) for s in udr.similarities]
    return parts


def _pairs_of_cells(
    cells: Mapping[str, Sequence[Model]], pools: Sequence[str]
) -> Iterator[tuple[str, str]]:
    for one, other in itertools.combinations_with_replacement(sorted(cells), 2):
        same_method = cells[one][0].method == cells[other][0].method
        if one == other or "data" in pools or ("method" in pools and same_method):
            yield one, other


def chosen_seeds(models: Sequence[Model], count: int | None) -> set[str]:
    """Ids of the first so many models of each cell, by seed: the paper's all-to-all takes ten."""
    cells: dict[str, list[Model]] = {}
    for model in sorted(models, key=lambda model: model.seed):
        cells.setdefault(model.cell, []).append(model)
    return {model.id for members in cells.values() for model in members[:count]}


def tiles(parts: Sequence[PairPart], most: int = TILE) -> list[list[PairPart]]:
    """Parts that one task computes together, so that it reads each representation once.

    Cells are put into strips of at most `most` models; a tile is a strip against a strip.
    """
    sizes: dict[str, int] = {}
    for part in parts:
        for side in (part.one, part.other):
            sizes[side[0].cell] = max(sizes.get(side[0].cell, 0), len(side))
    strip_of: dict[str, int] = {}
    strip, models = 0, 0
    for cell, size in sorted(sizes.items()):
        if models and models + size > most:
            strip, models = strip + 1, 0
        strip_of[cell], models = strip, models + size
    tiles_at: dict[tuple[int, int], list[PairPart]] = {}
    for part in parts:
        one, other = part.cells
        tiles_at.setdefault((strip_of[one], strip_of[other]), []).append(part)
    return [tiles_at[place] for place in sorted(tiles_at)]
