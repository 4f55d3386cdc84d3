"""A Ray cluster that somebody else started: its address, whether it takes us, its machines.

It is asked here before Ray's own client is: that one tries for 40 seconds, prints warnings, and
ends this process where a token is missing.

Ray's public functions cannot ask without its client. `ray.core.generated` and `ray._private` are
private parts of the Ray version that pyproject.toml pins. Look at them again with every update of
Ray.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any

from infra.errors import RAY_CLUSTER, WrongInput
from infra.runtime import ASKED_ONCE

ANSWER_SECONDS = 10.0
TOKEN = "RAY_AUTH_MODE=token and the token of its head in ~/.ray/auth_token or RAY_AUTH_TOKEN"


def check_address(address: str) -> None:
    """Raise if no server listens at host:port."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in address:
        raise WrongInput("--ray", address, "HOST:PORT, such as 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise WrongInput("--ray", f"{address} ({error})", RAY_CLUSTER) from None


def cluster_machines(address: str) -> list[Mapping[str, float]]:
    """The resources of each machine, as Ray lists them; raise if the cluster does not take us."""
    os.environ.setdefault(*ASKED_ONCE)  # Ray reads it when it is imported
    if address == "auto":
        address = _only_cluster()
    check_address(address)
    import grpc
    from ray._private.grpc_utils import init_grpc_channel
    from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc
    from ray.exceptions import AuthenticationError

    messages: Any = gcs_service_pb2  # generated, without types
    services: Any = gcs_service_pb2_grpc
    try:
        with init_grpc_channel(address) as channel:
            ask = services.NodeInfoGcsServiceStub(channel).GetAllNodeInfo
            nodes = ask(messages.GetAllNodeInfoRequest(), timeout=ANSWER_SECONDS).node_info_list
    except AuthenticationError:
        found = f"RAY_AUTH_MODE=token and no token for {address}"
        raise WrongInput("--ray", found, TOKEN) from None
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            with_token = os.environ.get("RAY_AUTH_MODE", "").lower() == "token"
            problem = "refuses this token" if with_token else "asks for a token"
            raise WrongInput("--ray", f"{address}, which {problem}", TOKEN) from None
        found = f"{address}, which does not answer as a Ray head does"
        raise WrongInput("--ray", found, RAY_CLUSTER) from None
    return [dict(node.resources_total) for node in nodes if node.state == node.ALIVE]


def _only_cluster() -> str:
    """What `auto` means: Ray itself would take any of several."""
    from ray._private import services

    if named := os.environ.get("RAY_ADDRESS"):
        return named
    running = sorted(services.find_gcs_addresses())
    address: str | None = running[0] if len(running) == 1 else services.find_bootstrap_address(None)
    if not address:
        found = f"auto, and {len(running) or 'no'} Ray clusters here"
        raise WrongInput("--ray", " ".join([found, *running]), "HOST:PORT of one, as in ray start")
    return address
