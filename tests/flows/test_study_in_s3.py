"""A study whose store is in an object store: the same bytes as in a folder, also after Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.errors import RUN_AGAIN
from infra.store import Store
from tests.flows.conftest import MODELS, contents, start, tolstoy
from tests.infra.s3_server import BUCKET, environment, s3_server
from tests.processes import descendants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def uri(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with s3_server() as address:
        for name, value in environment(address).items():
            monkeypatch.setenv(name, value)
        yield f"s3://{BUCKET}/deep/tiny"


def wait_for_a_checkpoint(driver: int, store: Store) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        training = any(name.startswith("ray::train") for _, name in descendants(driver))
        names = store.names("models")
        if training and any(store.exists("models", name, "checkpoint.pt") for name in names):
            return
        time.sleep(0.1)
    raise AssertionError("no model was under way within two minutes")


def test_a_study_in_an_object_store_is_the_same_as_in_a_folder(
    uri: str, spec: Path, undisturbed: Path, tmp_path: Path
) -> None:
    store = Store(uri)
    process = start("run", spec, "--store", uri, "--workers", 2)
    wait_for_a_checkpoint(process.pid, store)
    refused = tolstoy("run", spec, "--store", uri)
    assert refused.returncode == 2 and f"pid {process.pid}" in refused.stderr, refused.stderr
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and RUN_AGAIN in err, err
    assert store.names("drivers") == store.names("claims") == []

    done = tolstoy("run", spec, "--store", uri, "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert f"{uri}/report/index.html" in done.stdout
    in_s3, in_folder = contents(uri), contents(undisturbed)
    for name in in_folder:
        assert in_s3[name] == in_folder[name], name
    for name in store.names("models"):
        assert not store.exists("models", name, "checkpoint.pt")
    assert b"</html>" in store.read_bytes("report", "index.html")[-100:]

    again = tolstoy("run", spec, "--store", uri)
    assert again.returncode == 0 and "nothing to train" in again.stderr, again.stderr
    status = tolstoy("status", uri, "--json")
    assert status.returncode == 0, status.stderr
    assert sum(cell["trained"] for cell in json.loads(status.stdout)["cells"]) == MODELS
    ranked = tolstoy("rank", uri, "--json")
    assert ranked.returncode == 0, ranked.stderr
    folder = tolstoy("rank", undisturbed, "--json")
    assert json.loads(ranked.stdout)["data"] == json.loads(folder.stdout)["data"]
    model = store.read("models")["model_id"][0].as_py()
    show = tolstoy("show", model, "--store", uri, "--out", tmp_path / "shown")
    assert show.returncode == 0 and (tmp_path / "shown" / "traversal.png").exists(), show.stderr
    written = tolstoy("report", uri)
    assert written.returncode == 0 and f"{uri}/report/index.html" in written.stdout
