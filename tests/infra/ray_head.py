"""What answers like the head of a Ray cluster that is asked for its machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from ray.core.generated import gcs_pb2, gcs_service_pb2, gcs_service_pb2_grpc

ALIVE, DEAD = gcs_pb2.GcsNodeInfo.ALIVE, gcs_pb2.GcsNodeInfo.DEAD


class _Head(gcs_service_pb2_grpc.NodeInfoGcsServiceServicer):
    def __init__(self, machines: Sequence[Mapping[str, float]], refuses: bool) -> None:
        self.machines, self.refuses = machines, refuses

    def GetAllNodeInfo(self, request: Any, context: Any) -> Any:
        if self.refuses:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
        nodes = [gcs_pb2.GcsNodeInfo(state=ALIVE, resources_total=has) for has in self.machines]
        left = gcs_pb2.GcsNodeInfo(state=DEAD, resources_total={"CPU": 99})
        return gcs_service_pb2.GetAllNodeInfoReply(node_info_list=[*nodes, left])


@contextmanager
def ray_head(machines: Sequence[Mapping[str, float]] = (), refuses: bool = False) -> Iterator[str]:
    """The address of such a head while the block runs; one more machine has left its cluster."""
    server = grpc.server(ThreadPoolExecutor(1))
    gcs_service_pb2_grpc.add_NodeInfoGcsServiceServicer_to_server(_Head(machines, refuses), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
