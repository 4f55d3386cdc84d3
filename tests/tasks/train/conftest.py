"""The data of the small model, and a store in which nothing disturbed its training."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from data import dsprites
from tasks import data_sets
from tasks.train import train_model
from tests.tasks.train.training import MODEL, in_store


@pytest.fixture(scope="package", autouse=True)
def cache() -> Iterator[None]:
    """dSprites, drawn for these tests, where also their child processes find it."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOLSTOY_DATA", folder)
        data_sets.load.cache_clear()
        dsprites.load(Path(folder))
        yield
        data_sets.load.cache_clear()


@pytest.fixture(scope="package")
def undisturbed(tmp_path_factory, cache) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert train_model(*in_store(folder), MODEL) == "trained"
    return folder
