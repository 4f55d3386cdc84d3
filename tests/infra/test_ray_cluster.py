"""A cluster is asked who it is before Ray's client is started, which is slow and loud."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.errors import WrongInput
from infra.ray_cluster import check_address, cluster_machines
from tests.campaign.ray_cluster import RayCluster
from tests.infra.ray_head import ray_head


def refusal(address: str) -> str:
    with pytest.raises(WrongInput) as error:
        cluster_machines(address)
    return str(error.value)


@pytest.mark.parametrize("address", ["127.0.0.1", "ray://127.0.0.1:6379", "host:", "host:port", ""])
def test_an_address_of_another_form_is_refused_at_once(address: str) -> None:
    for check in (check_address, cluster_machines):
        with pytest.raises(WrongInput, match=r"--ray: found .*; accepted: HOST:PORT"):
            check(address)
    check_address("auto")


def test_a_host_whose_name_cannot_be_looked_up_is_named() -> None:
    with pytest.raises(WrongInput, match=r"--ray: found a\.\.b:6379 \(.*label"):
        check_address("a..b:6379")


def test_the_machines_of_a_cluster_are_those_that_are_there() -> None:
    machines = [{"CPU": 4.0, "memory": 2.0**30}, {"CPU": 2.0, "GPU": 1.0}]
    with ray_head(machines) as address:
        assert cluster_machines(address) == machines


@pytest.mark.parametrize(
    ("mode", "problem"), [(None, "asks for a token"), ("token", "refuses this token")]
)
def test_a_token_that_is_missing_or_wrong_is_named(
    mode: str | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    if mode:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with ray_head(refuses=True) as address:
        message = refusal(address)
    assert message.startswith(f"--ray: found {address}, which {problem}; accepted: RAY_AUTH_MODE")


@contextmanager
def something_else() -> Iterator[str]:
    """A server that is no Ray head: it says hello and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_server_that_is_no_head_is_refused() -> None:
    with something_else() as address:
        message = refusal(address)
    assert message.startswith(f"--ray: found {address}, which does not answer as a Ray head does")


@pytest.mark.parametrize(
    ("running", "started", "named", "chosen"),
    [
        (["10.0.0.1:1"], None, None, "10.0.0.1:1"),
        (["10.0.0.1:1", "10.0.0.2:2"], "10.0.0.2:2", None, "10.0.0.2:2"),
        (["10.0.0.1:1"], None, "10.0.0.3:3", "10.0.0.3:3"),
        (["10.0.0.1:1", "10.0.0.2:2"], None, None, "2 Ray clusters here 10.0.0.1:1 10.0.0.2:2;"),
        ([], None, None, "auto, and no Ray clusters here;"),
    ],
)
def test_auto_is_the_one_cluster_that_can_be_meant(
    running: list[str],
    started: str | None,
    named: str | None,
    chosen: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", lambda: set(running))
    monkeypatch.setattr("ray._private.services.find_bootstrap_address", lambda folder: started)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if named:
        monkeypatch.setenv("RAY_ADDRESS", named)

    def unreachable(address: str) -> None:
        raise WrongInput("--ray", address, "another")

    monkeypatch.setattr("infra.ray_cluster.check_address", unreachable)
    assert chosen in refusal("auto")


ASKING = "import sys; from infra.ray_cluster import cluster_machines; cluster_machines(sys.argv[1])"


@pytest.mark.slow
def test_a_cluster_of_ray_takes_its_own_token_only() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tolstoy-"))  # short: Ray has sockets below it
    outside = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    outside["HOME"] = str(folder)
    cluster = RayCluster(folder, outside)

    def answer(**settings: str) -> str:
        command = [sys.executable, "-c", ASKING, cluster.address]
        environment = {**outside, **settings}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return (done.stderr.splitlines() or ["taken"])[-1]

    try:
        cluster.start()
        assert answer(**cluster.settings) == "taken"
        assert "which asks for a token" in answer()
        assert "no token for" in answer(RAY_AUTH_MODE="token")
        assert "refuses this token" in answer(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="another")
    finally:
        cluster.kill()
        shutil.rmtree(folder, ignore_errors=True)
