"""`tolstoy run` as a job that Ray starts on the head of a cluster, by the commands of the page,
and the gauges that the head offers meanwhile."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from flows.gauges import GAUGES, PREFIX
from infra.store import Store
from tests.campaign.family import free_port
from tests.campaign.network import Loopback
from tests.campaign.ray_cluster import RayCluster
from tests.flows.conftest import MODELS, write_spec
from tests.flows.test_gauges import offered
from tests.tree import ROOT

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")

HEAD = Loopback.head
RAY = str(Path(sys.executable).with_name("ray"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_study_runs_as_a_job_on_the_head_and_prometheus_sees_it() -> None:
    assert "ray job submit" in PAGE
    folder = Path(tempfile.mkdtemp(prefix="tolstoy-"))  # short: Ray has sockets below it
    outside = {k: v for k, v in os.environ.items() if not re.match("PREFECT_|RAY_", k)}
    outside |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_metrics_report_interval_ms": "500"}
    outside |= {"PREFECT_HOME": str(folder / "prefect"), "PYTHONPATH": str(ROOT)}
    cluster, store = RayCluster(folder, outside), folder / "tiny"
    dashboard, metrics = free_port(HEAD), free_port(HEAD)
    address = ["--address", f"http://{HEAD}:{dashboard}"]
    job = [RAY, "job", "submit", *address, "--submission-id", "tiny", "--"]
    job += [
        str(Path(sys.executable).with_name("tolstoy")),
        "run",
        str(write_spec(folder / "s.yaml")),
    ]
    job += ["--ray", "auto", "--store", str(store)]
    try:
        places = ["--dashboard-host", HEAD, "--dashboard-port", str(dashboard)]
        cluster.start_head(*places, "--metrics-export-port", str(metrics))
        refused = subprocess.run(job, env={**outside, "RAY_AUTH_MODE": "disabled"}, timeout=90)
        assert refused.returncode != 0 and not store.exists(), "without the cluster's token"
        with (folder / "log").open("w") as log:
            environment = {**outside, **cluster.settings}
            submitted = subprocess.Popen(job, env=environment, stdout=log, stderr=log)
        seen: set[str] = set()
        while submitted.poll() is None:
            with suppress(OSError):  # the head has only just started
                gauges = offered(HEAD, metrics).items()
                seen |= {name for name, (study, _) in gauges if study == "tiny"}
            time.sleep(0.5)
        assert submitted.returncode == 0, (folder / "log").read_text()
        assert "succeeded" in (folder / "log").read_text()
        assert seen == {PREFIX + name for name in GAUGES}
        models = Store(store).read("models").to_pylist()
        assert [model["status"] for model in models] == ["trained"] * MODELS
        assert len(Store(store).read("scores", ["model_id"]).to_pylist()) > MODELS
        assert (store / "report" / "index.html").exists()
    finally:
        cluster.kill()
        shutil.rmtree(folder, ignore_errors=True)
