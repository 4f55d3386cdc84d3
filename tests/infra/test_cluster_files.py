"""The files for clusters, checked by schemas, parsers, the lock and each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.processes import wait_until
from tests.shell_commands import check_command, commands
from tests.tree import PACKAGES, PYPROJECT, ROOT

INFRA = ROOT / "infra" / "deploy"
WITH_RAY_NODE = "infra/deploy/with_ray_node.sh"
PAGE = ROOT / "docs" / "cluster.md"
LOCK = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
FILES = [
    "Dockerfile",
    "Dockerfile.dockerignore",
    "compose.yaml",
    "env.example",
    "grafana.json",
    "kuberay.yaml",
    "prefect.yaml",
    "ray-cluster.yaml",
]


def read(name: str) -> str:
    return (INFRA / name).read_text(encoding="utf-8")


def load(name: str) -> Any:
    return yaml.safe_load(read(name))


# commands ------------------------------------------------------------------------------------


def shell_of(name: str) -> str:
    """The commands that a file gives to a shell, one a line."""
    if name == "compose.yaml":
        services = load(name)["services"].values()
        return "\n".join(service.get("command", "") for service in services)
    if name == "kuberay.yaml":
        deployment = kinds()["Deployment"]
        return "\n".join(deployment["spec"]["template"]["spec"]["containers"][0]["args"])
    if name == "ray-cluster.yaml":
        return "\n".join(
            line for key, lines in load(name).items() if key.endswith("_commands") for line in lines
        )
    raise ValueError(name)


@pytest.mark.parametrize(
    ("name", "count"), [("compose.yaml", 4), ("kuberay.yaml", 1), ("ray-cluster.yaml", 5)]
)
def test_commands_are_accepted(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    calls = list(commands(shell_of(name)))
    assert len(calls) == count
    for call in calls:
        check_command(call)


def test_the_page_names_existing_files_and_all_that_are_needed() -> None:
    named = set(re.findall(r"infra/deploy/[\w.-]*\w", PAGE.read_text(encoding="utf-8")))
    secret = {"infra/deploy/.env", "infra/deploy/prefect.env"}
    assert all((ROOT / name).is_file() for name in named - secret)
    assert {Path(name).name for name in named} >= {*FILES} - {"Dockerfile.dockerignore"}


# versions and secrets ------------------------------------------------------------------------


def test_versions_are_those_of_the_lock() -> None:
    assert kinds()["RayCluster"]["spec"]["rayVersion"] == LOCK["ray"]
    assert load("prefect.yaml")["prefect-version"] == LOCK["prefect"]
    image = f"tolstoy:{PYPROJECT['project']['version']}"
    services = load("compose.yaml")["services"].values()
    assert {service["image"] for service in services if "build" in service} == {image}
    assert {container["image"] for container in containers()} == {image}


def test_every_image_has_a_version() -> None:
    images = re.findall(r"(?:image: |^FROM )(\S+)", read("compose.yaml") + read("Dockerfile"), re.M)
    assert len(images) >= 2
    for image in images:
        assert re.fullmatch(r"[\w./-]+:\d[\w.-]*", image), image


@pytest.mark.parametrize("name", [*FILES, "automations.yaml", "notify.yaml", PAGE.name])
def test_no_secret_is_written_down(name: str) -> None:
    text = PAGE.read_text(encoding="utf-8") if name == PAGE.name else read(name)
    random = r"\b(?=\w*\d)(?=\w*[a-zA-Z])(?![A-Z0-9_]+\b)\w{24,}\b"  # or what looks so
    assert not re.search(random, text)
    secret = r"(?i)\b\w*(?:password|token|auth_string|secret_access_key|_auth) ?[:=] ?(\S+)"
    assert [value for value in re.findall(secret, text) if not value.startswith("$")] == []
    assert not re.search(r"://\w+:[^$\s@]+@", text)


def test_the_example_names_what_compose_needs_and_gives_no_values() -> None:
    settings = re.findall(r"^(\w+)=(.*)$", read("env.example"), re.M)
    assert all(not value for _, value in settings)
    needed = set(re.findall(r"\$\{(\w+)", read("compose.yaml")))
    assert {name for name, _ in settings} == needed
    for name in needed:  # Compose names a missing one instead of taking it as empty
        assert f"${{{name}:?" in read("compose.yaml"), name


def test_git_and_the_image_leave_secrets_out() -> None:
    for name in ("infra/deploy/.env", "infra/deploy/prefect.env"):
        assert subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT).returncode == 0, name
    assert read("Dockerfile.dockerignore").split()[-1] == "**/*.env"
    assert "*.env" in load("ray-cluster.yaml")["rsync_exclude"]


# the image -----------------------------------------------------------------------------------


def test_the_image_holds_the_checkout_and_runs_without_root() -> None:
    let_in = set(re.findall(r"^!(.+)$", read("Dockerfile.dockerignore"), re.M))
    project = PYPROJECT["project"]
    needed = {*PACKAGES, "pyproject.toml", "requirements.lock", project["readme"]}
    assert let_in == needed | set(project["license-files"])
    assert all((ROOT / name).exists() for name in let_in)
    lines = read("Dockerfile").splitlines()
    assert any("install" in line and "-r requirements.lock" in line for line in lines)
    assert any("install" in line and "--no-deps" in line and "-e ." in line for line in lines)
    assert [line for line in lines if line.startswith("USER")] == ["USER tolstoy"]
    (base,) = (line for line in lines if line.startswith("FROM"))
    assert project["requires-python"].removeprefix(">=") in base


# Compose -------------------------------------------------------------------------------------


def test_compose_services_fit_together() -> None:
    whole = load("compose.yaml")
    services = whole["services"]
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}, name
            assert services[other]["healthcheck"]["test"], other
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in whole["volumes"], name
        if "build" in service:
            context = INFRA / service["build"]["context"]
            assert (context / service["build"]["dockerfile"]).is_file()
        text = yaml.safe_dump({key: service.get(key) for key in ("command", "environment")})
        for host, port in re.findall(r"\b([a-z][\w-]*):(4200|5432|6379)\b", text):
            assert {"4200": "prefect", "5432": "postgres", "6379": "ray-head"}[port] == host
            assert host in {name, *service.get("depends_on", {})}, (
                f"{name} does not wait for {host}"
            )


def test_compose_serves_this_machine_only_and_asks_for_a_password() -> None:
    services = load("compose.yaml")["services"]
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert len(published) >= 2
    assert all(port.startswith("127.0.0.1:") for port in published)
    for name, service in services.items():
        if "ray" in service.get("command", ""):
            assert service["environment"]["RAY_AUTH_MODE"] == "token", name
            assert service["environment"]["RAY_AUTH_TOKEN"].startswith("${RAY_AUTH_TOKEN:?"), name
            assert "shared:/shared" in service["volumes"], name
    server, client = services["prefect"]["environment"], services["serve"]["environment"]
    assert server["PREFECT_SERVER_API_AUTH_STRING"].startswith("${PREFECT_AUTH:?")
    assert client["PREFECT_API_AUTH_STRING"].startswith("${PREFECT_AUTH")
    assert client["PREFECT_API_URL"] == "http://prefect:4200/api"


def test_docker_reads_the_compose_file() -> None:
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "compose", "version"], capture_output=True).returncode:
        pytest.skip("no docker client with compose")
    values = {"POSTGRES_PASSWORD": "a", "PREFECT_AUTH": "a:b", "RAY_AUTH_TOKEN": "a"}
    command = [docker, "compose", "-f", str(INFRA / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(command, env={**os.environ, **values}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Kubernetes ----------------------------------------------------------------------------------

# The fields of KubeRay's RayCluster that the file may use.
CLUSTER = {
    "rayVersion",
    "authOptions",
    "enableInTreeAutoscaling",
    "autoscalerOptions",
    "headGroupSpec",
    "workerGroupSpecs",
}
AUTOSCALER = {"idleTimeoutSeconds", "upscalingMode", "resources", "env", "version"}
GROUP = {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
POD = {"containers", "volumes", "securityContext", "tolerations", "nodeSelector"}
CONTAINER = {
    "name",
    "image",
    "command",
    "args",
    "env",
    "envFrom",
    "ports",
    "resources",
    "volumeMounts",
}


def kinds() -> dict[str, Any]:
    documents = yaml.safe_load_all(read("kuberay.yaml"))
    return {document["kind"]: document for document in documents}


def pods() -> list[dict[str, Any]]:
    cluster, deployment = (kinds()[kind]["spec"] for kind in ("RayCluster", "Deployment"))
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"], deployment]
    return [group["template"]["spec"] for group in groups]


def containers() -> list[dict[str, Any]]:
    return [container for pod in pods() for container in pod["containers"]]


def test_the_ray_cluster_is_what_kuberay_takes() -> None:
    cluster = kinds()["RayCluster"]
    spec = cluster["spec"]
    assert cluster["apiVersion"] == "ray.io/v1"
    assert set(spec) <= CLUSTER
    assert set(spec["autoscalerOptions"]) <= AUTOSCALER
    assert spec["enableInTreeAutoscaling"] is True
    assert spec["authOptions"] == {"mode": "token"}
    assert set(spec["headGroupSpec"]) <= {"rayStartParams", "template"}
    for group in [spec["headGroupSpec"], *spec["workerGroupSpecs"]]:
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    groups = {group["groupName"]: group for group in spec["workerGroupSpecs"]}
    assert len(groups) == len(spec["workerGroupSpecs"]) == 2
    for group in groups.values():
        assert set(group) <= GROUP
        assert 0 <= group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        assert group["maxReplicas"] > 1
    gpu, cpu = (groups[name]["template"]["spec"]["containers"][0] for name in ("gpu", "cpu"))
    assert gpu["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in cpu["resources"]["limits"]
    assert groups["gpu"]["minReplicas"] >= 1  # without a GPU at the start a study takes CPUs


def test_pods_mount_the_claim_and_have_resources() -> None:
    claim = kinds()["PersistentVolumeClaim"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for pod in pods():
        assert set(pod) <= POD
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        for volume in volumes.values():
            assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        for container in pod["containers"]:
            assert set(container) <= CONTAINER
            assert re.fullmatch(r"[a-z][a-z0-9-]*", container["name"])
            assert container["resources"]["requests"] == container["resources"]["limits"]
            assert {m["name"] for m in container.get("volumeMounts", [])} == set(volumes)
    assert sum("volumes" in pod for pod in pods()) == 3  # all but the head


def test_the_prefect_worker_drives_this_cluster() -> None:
    from flows.dashboard.limits import VARIABLE, Limits

    name = kinds()["RayCluster"]["metadata"]["name"]
    deployment = kinds()["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    (worker,) = deployment["template"]["spec"]["containers"]
    environment = {variable["name"]: variable for variable in worker["env"]}
    head = f"{name}-head-svc:6379"  # as KubeRay names it
    assert f"{WITH_RAY_NODE} {head} " in worker["args"][0]
    token = environment["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]
    assert token == {"name": name, "key": "auth_token"}  # as KubeRay makes it
    served = yaml.safe_load(environment[VARIABLE]["value"])
    assert set(served) <= set(Limits.model_fields)
    assert Limits(**served).ray == head
    mounts = [mount["mountPath"] for mount in worker["volumeMounts"]]
    assert any(Path(Limits(**served).studies).is_relative_to(mount) for mount in mounts)
    pool = load("prefect.yaml")["deployments"][0]["work_pool"]["name"]
    assert f"--pool {pool} " in worker["args"][0]


# a node and its driver -----------------------------------------------------------------------

STUB = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "$PLACE/began"
trap 'echo "$(basename "$0") was ended" >> "$PLACE/ended"; exit 0' TERM
for _ in $(seq 100); do [ -e "$PLACE/$(basename "$0").end" ] && exit 0; sleep 0.1; done
"""


@pytest.mark.parametrize("first", ["ray", "driver", "container"])
def test_a_node_and_its_driver_end_together(tmp_path: Path, first: str) -> None:
    for name in ("ray", "driver"):
        (tmp_path / name).write_text(STUB)
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PLACE": str(tmp_path)}
    command = [str(ROOT / WITH_RAY_NODE), "head:6379", "driver", "--port", "1"]
    both = subprocess.Popen(command, env=environment)
    began = tmp_path / "began"
    wait_until(lambda: began.exists() and len(began.read_text().splitlines()) == 2, 20)
    driver, ray = sorted(began.read_text().splitlines())
    assert driver == "driver --port 1" and "--address=head:6379 --num-cpus=0" in ray
    check_command(ray.split())
    if first == "container":
        both.terminate()
    else:
        (tmp_path / f"{first}.end").touch()
    assert both.wait(timeout=20) != 0, "a failure makes the container start again"
    ended = set((tmp_path / "ended").read_text().splitlines())
    assert ended == {f"{name} was ended" for name in {"ray", "driver"} - {first}}


# Ray's launcher ------------------------------------------------------------------------------


def test_ray_takes_its_cluster_file() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(load("ray-cluster.yaml"))
    validate_config(prepared)
    nodes = prepared["available_node_types"]
    head, gpu, cpu = nodes["head"], nodes["gpu"], nodes["cpu"]
    assert head["resources"] == {"CPU": 0} and head["max_workers"] == 0
    assert "InstanceMarketOptions" not in head["node_config"]
    for node in (gpu, cpu):
        assert node["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
        assert node["min_workers"] < node["max_workers"]
    assert gpu["resources"]["GPU"] == 1 and gpu["min_workers"] >= 1
    assert "GPU" not in cpu["resources"]
    assert gpu["max_workers"] + cpu["max_workers"] <= prepared["max_workers"]


def test_the_cluster_file_mounts_the_checkout_and_no_secret() -> None:
    config = load("ray-cluster.yaml")
    assert list(config["file_mounts"].values()) == ["."]
    (token,) = config["cluster_synced_files"]
    assert token == f"/home/{config['auth']['ssh_user']}/.ray/auth_token"
    starts = [
        line
        for line in [*config["head_start_ray_commands"], *config["worker_start_ray_commands"]]
        if "ray start" in line
    ]
    assert len(starts) == 2
    assert all(line.startswith("RAY_AUTH_MODE=token ") for line in starts)
    assert "dashboard-host" not in read("ray-cluster.yaml")


# Prefect's deployments -----------------------------------------------------------------------


def flow_of(entrypoint: str) -> Any:
    path, _, name = entrypoint.partition(":")
    return getattr(import_module(path.removesuffix(".py").replace("/", ".")), name)


def test_prefect_takes_its_file_and_the_deployments_are_there() -> None:
    from prefect.cli.deploy._config import _load_deploy_configs_and_actions
    from rich.console import Console

    from flows.dashboard.runner import DEPLOYMENTS

    deployments, _ = _load_deploy_configs_and_actions(INFRA / "prefect.yaml", console=Console())
    assert [deployment["name"] for deployment in deployments] == list(DEPLOYMENTS), "as serve"
    for deployment in deployments:
        assert flow_of(deployment["entrypoint"]).name == deployment["name"]
        assert deployment["work_pool"] == {"name": "tolstoy"}
        assert not deployment.get("parameters"), "the form has its own defaults"
    assert deployments[0]["concurrency_limit"] == 1


def test_the_nightly_schedule_is_off_and_would_run() -> None:
    from prefect.cli.deploy._models import RawScheduleConfig

    deployments = load("prefect.yaml")["deployments"]
    ((entrypoint, raw),) = (
        (deployment["entrypoint"], raw)
        for deployment in deployments
        for raw in deployment.get("schedules", [])
    )
    schedule = RawScheduleConfig(**raw)
    assert schedule.active is False
    assert schedule.cron
    flow_of(entrypoint).validate_parameters(schedule.parameters)
