"""The pictures of a study's data sets, once their sources are chosen."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

import data
from data.base.cache import folder
from data.base.protocol import DataSet, Description
from tasks.streams import stream
from tasks.study.data_choice import DataChoice
from tasks.study.sources import own_table, with_source


def describe(choice: DataChoice) -> Description:
    """Channels and factors of a data set; only the user's own data are loaded for it."""
    return load_own(choice) if choice.own else data.describe(choice.name, choice.source)


@lru_cache(maxsize=4)
def load(choice: DataChoice) -> DataSet:
    """The pictures: a memory map, opened once per process. Raises if they have changed since the
    study chose their source, or are not on this machine."""
    choice = with_source(choice, () if choice.own else data.sources(choice.name))
    if choice.own or not choice.source:
        return cast(DataSet, load_own(choice))
    return data.load(choice.name, choice.source, folder())


load_own = lru_cache(maxsize=4)(own_table)


@lru_cache(maxsize=1)
def probe_images(choice: DataChoice, count: int) -> NDArray[np.float32]:
    """The ordered images on which all models of a data set are compared."""
    data_set = load(choice)
    draws = stream("probe", choice.name)
    return data_set.images(data_set.sample(count, draws), draws)
