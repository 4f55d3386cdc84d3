"""`tolstoy rank`: the models of a store, or of anyone's file, best first, without labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from infra.errors import WrongInput, one_of
from metrics import SIMILARITIES
from tasks.study.spec import Pool

FILES = (".npz", ".h5", ".hdf5")


@dataclass(frozen=True)
class Ranking:
    """What is asked for; None is what the study has."""

    pool: str | None
    similarity: str | None
    p: int | None  # 0 means all
    data: str | None
    top: int
    plot: Path | None
    json: bool

    def check(self) -> None:
        for option, given, known in (
            ("--pool", self.pool, get_args(Pool)),
            ("--similarity", self.similarity, SIMILARITIES),
        ):
            if given is not None and given not in known:
                raise WrongInput(option, given, one_of(known, given))
        if self.p is not None and self.p < 0:
            raise WrongInput("--p", self.p, "a number of comparisons; 0 means all")
        if self.top < 1:
            raise WrongInput("--top", self.top, "a number from 1")
        if self.plot is not None and self.plot.exists():
            raise WrongInput("--plot", str(self.plot), "a file that does not exist yet")


def rank(place: str, asked: Ranking, ray: str | None) -> int:
    """Rank what lies there: a file if it is one or is called so, a store otherwise."""
    asked.check()
    if not Path(place).is_file() and not place.lower().endswith(FILES):
        from flows.commands.rank_store import rank_store

        return rank_store(place, asked, ray)
    for option, given in (("--pool", asked.pool), ("--data", asked.data), ("--ray", ray)):
        if given is not None:
            raise WrongInput(option, given, "nothing, as a file is one pool")
    from flows.commands.rank_file import rank_file

    return rank_file(Path(place), asked)
