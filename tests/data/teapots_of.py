"""The data set of teapots with fewer pictures, as drawing all of them takes minutes."""

from dataclasses import replace

import pytest

from data import teapots


def few_teapots(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """As long as the test runs, the data set has so many pictures; use a cache of its own."""
    few = replace(teapots.DESCRIPTION, pictures=count)
    monkeypatch.setattr(teapots, "DESCRIPTION", few)
    for source, published in teapots.PUBLISHED.items():
        monkeypatch.setitem(
            teapots.PUBLISHED, source, replace(published, shape=teapots._shape(count))
        )
