"""The files for clusters: what can be held to a schema, a parser, the lock or each other."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.processes import wait_until

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra" / "deploy"
BESIDE = "infra/deploy/beside_ray.sh"
PAGE = ROOT / "docs" / "cluster.md"
LOCK = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
FILES = [
    "Dockerfile",
    "Dockerfile.dockerignore",
    "compose.yaml",
    "env.example",
    "kuberay.yaml",
    "prefect.yaml",
    "ray-cluster.yaml",
]


def read(name: str) -> str:
    return (INFRA / name).read_text(encoding="utf-8")


def load(name: str) -> Any:
    return yaml.safe_load(read(name))


PROGRAMS = ("tolstoy", "ray", "prefect")


# commands ------------------------------------------------------------------------------------


def commands(text: str) -> Iterator[list[str]]:
    """The `tolstoy`, `ray` and `prefect` commands of a text, also those handed to another shell."""
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        for pause, part in groupby(lexer, lambda word: set(word) <= set("();<>|&")):
            words = list(part)
            if pause or words[0] in ("cd", "make"):  # of a folder that may be called so
                continue
            for word in words:
                if " " in word:
                    yield from commands(word)
            names = [Path(word).name for word in words]
            at = next((i for i, name in enumerate(names) if name in PROGRAMS), None)
            if at is not None:
                yield [names[at], *words[at + 1 :]]


def check_command(words: list[str]) -> None:
    """Have the program itself parse the command; it is not run."""
    program, arguments = words[0], words[1:]
    if program == "ray":
        from ray.scripts.scripts import cli

        command = cli.get_command(None, arguments[0])
        assert command, f"ray has no command {arguments[0]}"
        command.make_context(arguments[0], arguments[1:])
    elif program == "prefect":
        from prefect.cli._app import _app as app

        arguments = [one for one in arguments if one != "--no-prompt"]  # of every command
        app.parse_args(arguments, print_error=False, exit_on_error=False)
    else:
        from flows.cli import app

        app.parse_args(arguments, print_error=False, exit_on_error=False)


def shell_of(name: str) -> str:
    """The commands that a file gives to a shell, one a line."""
    if name == "compose.yaml":
        return "\n".join(one.get("command", "") for one in load(name)["services"].values())
    if name == "kuberay.yaml":
        deployment = kinds()["Deployment"]
        return "\n".join(deployment["spec"]["template"]["spec"]["containers"][0]["args"])
    if name == "ray-cluster.yaml":
        return "\n".join(
            line for key, lines in load(name).items() if key.endswith("_commands") for line in lines
        )
    return "\n".join(re.findall(r"^```\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S))


@pytest.mark.parametrize("name", ["compose.yaml", "kuberay.yaml", "ray-cluster.yaml", PAGE.name])
def test_commands_are_commands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = list(commands(shell_of(name)))
    assert len(found) == {"compose.yaml": 4, "kuberay.yaml": 1, "ray-cluster.yaml": 5}.get(name, 20)
    for words in found:
        check_command(words)


def test_files_that_the_page_names_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    secret = {"infra/deploy/.env", "infra/deploy/prefect.env"}
    for name in set(re.findall(r"infra/deploy/[\w.-]*\w", text)) - secret:
        assert (ROOT / name).is_file(), name
    for name in re.findall(r"\]\(([^)#]+)", text):
        assert (PAGE.parent / name).is_file(), name
    assert {Path(name).name for name in re.findall(r"infra/deploy/[\w.-]+\w", text)} >= {
        *("compose.yaml", "kuberay.yaml", "ray-cluster.yaml", "prefect.yaml", "env.example"),
        "Dockerfile",
    }


# versions and secrets ------------------------------------------------------------------------


def test_versions_are_those_of_the_lock() -> None:
    assert kinds()["RayCluster"]["spec"]["rayVersion"] == LOCK["ray"]
    assert load("prefect.yaml")["prefect-version"] == LOCK["prefect"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    image = f"tolstoy:{project['version']}"
    own = {one["image"] for one in load("compose.yaml")["services"].values() if "build" in one}
    assert own == {image}
    assert {one["image"] for one in containers()} == {image}


def test_every_image_has_a_version() -> None:
    images = re.findall(r"(?:image: |^FROM )(\S+)", read("compose.yaml") + read("Dockerfile"), re.M)
    assert len(images) >= 2
    for image in images:
        assert re.fullmatch(r"[\w./-]+:\d[\w.-]*", image), image


@pytest.mark.parametrize("name", [*FILES, PAGE.name])
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
    for name in needed:  # a missing one is told, not taken as empty
        assert f"${{{name}:?" in read("compose.yaml"), name


def test_git_and_the_image_leave_secrets_out() -> None:
    for name in ("infra/deploy/.env", "infra/deploy/prefect.env"):
        assert subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT).returncode == 0, name
    assert read("Dockerfile.dockerignore").split()[-1] == "**/*.env"
    assert "*.env" in load("ray-cluster.yaml")["rsync_exclude"]


# the image -----------------------------------------------------------------------------------


def test_the_image_holds_the_checkout_and_runs_without_root() -> None:
    let_in = set(re.findall(r"^!(.+)$", read("Dockerfile.dockerignore"), re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert let_in >= {*project["tool"]["setuptools"]["packages"], "pyproject.toml", "README.md"}
    assert let_in >= set(project["project"]["license-files"])
    assert all((ROOT / name).exists() for name in let_in)
    lines = read("Dockerfile").splitlines()
    assert any("install" in line and "-r requirements.lock" in line for line in lines)
    assert any("install" in line and "--no-deps" in line and "-e ." in line for line in lines)
    assert [line for line in lines if line.startswith("USER")] == ["USER tolstoy"]
    (base,) = (line for line in lines if line.startswith("FROM"))
    assert project["project"]["requires-python"].removeprefix(">=") in base


# Compose -------------------------------------------------------------------------------------


def test_compose_services_fit_together() -> None:
    whole = load("compose.yaml")
    services = whole["services"]
    for name, one in services.items():
        for other, how in one.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}, name
            assert services[other]["healthcheck"]["test"], other
        for volume in one.get("volumes", []):
            assert volume.partition(":")[0] in whole["volumes"], name
        if "build" in one:
            context = INFRA / one["build"]["context"]
            assert (context / one["build"]["dockerfile"]).is_file()
        text = yaml.safe_dump({key: one.get(key) for key in ("command", "environment")})
        for host, port in re.findall(r"\b([a-z][\w-]*):(4200|5432|6379)\b", text):
            assert {"4200": "prefect", "5432": "postgres", "6379": "ray-head"}[port] == host
            assert host in {name, *one.get("depends_on", {})}, f"{name} does not wait for {host}"


def test_compose_is_for_this_machine_alone_and_asks_who_comes() -> None:
    services = load("compose.yaml")["services"]
    published = [port for one in services.values() for port in one.get("ports", [])]
    assert len(published) >= 2
    assert all(port.startswith("127.0.0.1:") for port in published)
    for name, one in services.items():
        if "ray" in one.get("command", ""):
            assert one["environment"]["RAY_AUTH_MODE"] == "token", name
            assert one["environment"]["RAY_AUTH_TOKEN"].startswith("${RAY_AUTH_TOKEN:?"), name
            assert "shared:/shared" in one["volumes"], name
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

# What KubeRay's RayCluster knows, of what may be wanted here.
CLUSTER = {
    *("rayVersion", "authOptions", "enableInTreeAutoscaling", "autoscalerOptions"),
    *("headGroupSpec", "workerGroupSpecs"),
}
AUTOSCALER = {"idleTimeoutSeconds", "upscalingMode", "resources", "env", "version"}
GROUP = {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
POD = {"containers", "volumes", "securityContext", "tolerations", "nodeSelector"}
CONTAINER = {
    *("name", "image", "command", "args", "env", "envFrom", "ports", "resources"),
    "volumeMounts",
}


def kinds() -> dict[str, Any]:
    return {one["kind"]: one for one in yaml.safe_load_all(read("kuberay.yaml"))}


def pods() -> list[dict[str, Any]]:
    found = kinds()
    cluster = found["RayCluster"]["spec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"], found["Deployment"]["spec"]]
    return [one["template"]["spec"] for one in groups]


def containers() -> list[dict[str, Any]]:
    return [container for pod in pods() for container in pod["containers"]]


def test_the_ray_cluster_is_what_kuberay_takes() -> None:
    one = kinds()["RayCluster"]
    spec = one["spec"]
    assert one["apiVersion"] == "ray.io/v1"
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


def test_pods_are_whole() -> None:
    claim = kinds()["PersistentVolumeClaim"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for pod in pods():
        assert set(pod) <= POD
        volumes = {one["name"]: one for one in pod.get("volumes", [])}
        for one in volumes.values():
            assert one["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        for container in pod["containers"]:
            assert set(container) <= CONTAINER
            assert re.fullmatch(r"[a-z][a-z0-9-]*", container["name"])
            assert container["resources"]["requests"] == container["resources"]["limits"]
            assert {m["name"] for m in container.get("volumeMounts", [])} == set(volumes)
    assert sum("volumes" in pod for pod in pods()) == 3  # all but the head


def test_the_prefect_worker_drives_this_cluster() -> None:
    from flows.dashboard.limits import VARIABLE, Limits

    found = kinds()
    name = found["RayCluster"]["metadata"]["name"]
    deployment = found["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    (worker,) = deployment["template"]["spec"]["containers"]
    environment = {one["name"]: one for one in worker["env"]}
    head = f"{name}-head-svc:6379"  # as KubeRay names it
    assert f"{BESIDE} {head} " in worker["args"][0]
    token = environment["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]
    assert token == {"name": name, "key": "auth_token"}  # as KubeRay makes it
    served = yaml.safe_load(environment[VARIABLE]["value"])
    assert set(served) <= set(Limits.model_fields)
    assert Limits(**served).ray == head
    mounts = [one["mountPath"] for one in worker["volumeMounts"]]
    assert any(Path(Limits(**served).studies).is_relative_to(mount) for mount in mounts)
    pool = load("prefect.yaml")["deployments"][0]["work_pool"]["name"]
    assert f"--pool {pool} " in worker["args"][0]


# a node and its driver -----------------------------------------------------------------------

STUB = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "$PLACE/began"
trap 'echo "$(basename "$0") was told" >> "$PLACE/ended"; exit 0' TERM
for _ in $(seq 100); do [ -e "$PLACE/$(basename "$0").end" ] && exit 0; sleep 0.1; done
"""


@pytest.mark.parametrize("first", ["ray", "driver", "container"])
def test_a_node_and_its_driver_end_together(tmp_path: Path, first: str) -> None:
    for name in ("ray", "driver"):
        (tmp_path / name).write_text(STUB)
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PLACE": str(tmp_path)}
    command = [str(ROOT / BESIDE), "head:6379", "driver", "--port", "1"]
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
    assert both.wait(timeout=20) != 0, "so that it is started again"
    told = set((tmp_path / "ended").read_text().splitlines())
    assert told == {f"{name} was told" for name in {"ray", "driver"} - {first}}


# Ray's launcher ------------------------------------------------------------------------------


def test_ray_takes_its_cluster_file() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(load("ray-cluster.yaml"))
    validate_config(prepared)
    nodes = prepared["available_node_types"]
    head, gpu, cpu = nodes["head"], nodes["gpu"], nodes["cpu"]
    assert head["resources"] == {"CPU": 0} and head["max_workers"] == 0
    assert "InstanceMarketOptions" not in head["node_config"]
    for one in (gpu, cpu):
        assert one["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
        assert one["min_workers"] < one["max_workers"]
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

    found, _ = _load_deploy_configs_and_actions(INFRA / "prefect.yaml", console=Console())
    assert [one["name"] for one in found] == ["study", "rank", "report"]
    for one in found:
        assert flow_of(one["entrypoint"]).name == one["name"]
        assert one["work_pool"] == {"name": "tolstoy"}
        assert not one.get("parameters"), "the form has its own defaults"
    assert found[0]["concurrency_limit"] == 1


def test_the_nightly_schedule_is_off_and_would_run() -> None:
    from prefect.cli.deploy._models import RawScheduleConfig

    deployments = load("prefect.yaml")["deployments"]
    ((entrypoint, raw),) = (
        (one["entrypoint"], raw) for one in deployments for raw in one.get("schedules", [])
    )
    schedule = RawScheduleConfig(**raw)
    assert schedule.active is False
    assert schedule.cron
    flow_of(entrypoint).validate_parameters(schedule.parameters)
