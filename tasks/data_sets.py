"""The data sets of a study: which source each has on this machine, and their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import data
from data.cache import folder
from data.pixels import Progress
from data.protocol import DataSet, Description, Source
from infra.errors import WrongInput
from tasks.settings import DataChoice
from tasks.streams import stream


def settle(choice: DataChoice, accepted: Sequence[Source]) -> DataChoice:
    """The choice with its source and content, which from then on are part of the study.

    A known data set takes the first accepted source that is at hand. The user's own files are
    read and prepared here, so that what is wrong with them is told before anything is trained.
    """
    if choice.own:
        places = {
            field: str(Path(place).expanduser().absolute())
            for field in ("images", "factors", "folder")
            if (place := getattr(choice, field))
        }
        choice = choice.model_copy(update=places)
        return _with(choice, source="user", content=_own(choice).content)
    known = data.sources(choice.name)
    wanted = [choice.source] if choice.source else [one for one in accepted if one in known]
    for source in wanted:
        if data.at_hand(choice.name, source, folder()):
            return _with(choice, source=source, content=data.content(choice.name, source, folder()))
    found = f"no {' or '.join(wanted)} pictures" if wanted else f"sources {', '.join(accepted)}"
    raise WrongInput(f"data {choice.name}", f"{found} in {folder()}", _ways_on(choice.name))


def _with(choice: DataChoice, **settled: Any) -> DataChoice:
    """With another source or content; what a settled choice says must still be so."""
    for field, value in settled.items():
        before = getattr(choice, field)
        if before and before != value:
            accepted = f"{before!r}, as when the study first ran"
            raise WrongInput(f"data {choice.name}, {field}", value, accepted)
    return choice.model_copy(update=settled)


def _ways_on(name: str) -> str:
    """How to come by a data set that is not at hand."""
    needed = data.published_files(name)
    ways = [f"'tolstoy data fetch {name}'"] if needed else []
    if free := [source for source in data.sources(name) if source not in needed]:
        ways.append(f"a spec that accepts {free[0]} (--set 'sources=[redrawn,official,{free[0]}]')")
    return ", or ".join(ways)


def describe(choice: DataChoice) -> Description:
    """What can be said of the data set; only the user's own are loaded for it."""
    return _own(choice) if choice.own else data.describe(choice.name, choice.source)


@lru_cache(maxsize=4)
def load(choice: DataChoice) -> DataSet:
    """The pictures; one copy per process of what is a memory map underneath."""
    settled = settle(choice, () if choice.own else data.sources(choice.name))
    if choice.own or not settled.source:
        return cast(DataSet, _own(choice))
    return data.load(choice.name, settled.source, folder())


def prepare_own(choice: DataChoice, progress: Progress | None = None) -> Any:
    """The user's own data set, read into the cache if it is not there."""
    from data import own

    files = own.OwnFiles(choice.images, choice.factors, choice.folder)
    return own.load(choice.name, files, folder(), progress)


_own = lru_cache(maxsize=4)(prepare_own)


@lru_cache(maxsize=1)
def probe_images(choice: DataChoice, count: int) -> NDArray[np.float32]:
    """The ordered images on which all models of a data set are compared."""
    images_of = load(choice)
    draws = stream("probe", choice.name)
    return images_of.images(images_of.sample(count, draws), draws)
