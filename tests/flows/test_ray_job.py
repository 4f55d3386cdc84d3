"""`tolstoy run` as a job that Ray starts on the head of a cluster, by the commands of the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from infra.store import Store
from tests.campaign.family import free_port
from tests.campaign.ray_cluster import HEAD, RayCluster
from tests.flows.conftest import MODELS, write_spec
from tests.tree import ROOT

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")


def ray(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("ray")), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_study_runs_as_a_job_on_the_head() -> None:
    assert "ray job submit" in PAGE
    folder = Path(tempfile.mkdtemp(prefix="tolstoy-"))  # short: Ray has sockets below it
    ours = {k: v for k, v in os.environ.items() if not re.match("PREFECT_|RAY_", k)}
    ours |= {"RAY_USAGE_STATS_ENABLED": "0", "PREFECT_HOME": str(folder / "prefect")}
    cluster = RayCluster(folder, {**ours, "PYTHONPATH": str(ROOT)})
    port, store = free_port(HEAD), folder / "tiny"
    address = f"http://{HEAD}:{port}"
    try:
        cluster.start_head(dashboard_port=port)
        spec = write_spec(folder / "tiny.yaml")
        tolstoy = [str(Path(sys.executable).with_name("tolstoy")), "run", str(spec)]
        submit = ["job", "submit", "--address", address, "--submission-id", "tiny", "--", *tolstoy]
        submit += ["--ray", "auto", "--store", str(store)]
        refused = ray(*submit, environment={**ours, "RAY_AUTH_MODE": "disabled"})
        assert refused.returncode != 0 and not store.exists(), "without the cluster's token"
        done = ray(*submit, environment=cluster.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        status = ray("job", "status", "--address", address, "tiny", environment=cluster.environment)
        assert "SUCCEEDED" in status.stdout + status.stderr
        models = Store(store).read("models").to_pylist()
        assert [model["status"] for model in models] == ["trained"] * MODELS
        assert len(Store(store).read("scores", ["model_id"]).to_pylist()) > MODELS
        assert (store / "report" / "index.html").exists()
    finally:
        cluster.kill()
        shutil.rmtree(folder, ignore_errors=True)
