"""One fresh drawing for all tests: it takes two seconds, and an old one could hide a mistake."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from data import dsprites


@pytest.fixture(scope="session")
def cache() -> Iterator[Path]:
    """A folder that holds dSprites, removed at the end as it takes 377 MB."""
    with tempfile.TemporaryDirectory() as folder:
        dsprites.load(Path(folder))
        yield Path(folder)


@pytest.fixture
def empty_cache() -> Iterator[Path]:
    """A folder that does not exist yet, removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "new" / "cache"


@pytest.fixture(scope="session")
def packed(cache: Path) -> dsprites.Packed:
    """All pictures of dSprites, one bit per pixel."""
    return dsprites.load(cache).packed
