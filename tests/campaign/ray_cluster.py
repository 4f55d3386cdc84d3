"""A Ray cluster of two nodes with token authentication, each at a loopback address of its own."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from pathlib import Path

from tests.campaign.family import free_port, kill_tree

HEAD, NODE = "127.0.0.2", "127.0.0.3"  # 127.0.0.1 would be replaced by an outside address
STARTED = "Ray runtime started"
STARTUP_SECONDS = 180.0
STORE_BYTES = 100 * 2**20


class RayCluster:
    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        self.settings = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        self.environment = {**environment, **self.settings}
        self.port = free_port(HEAD)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        return f"{HEAD}:{self.port}"

    def start(self) -> None:
        self.start_head()
        self.start_node()

    def start_head(self, *arguments: str) -> None:
        """A head without other nodes, and without a dashboard unless arguments ask for one."""
        self.kill()
        self.port = free_port(HEAD)
        dashboard = arguments or ("--include-dashboard", "false")
        self._start(HEAD, "--head", "--port", str(self.port), *dashboard)

    def start_node(self) -> None:
        self._start(NODE, "--address", self.address)

    def kill(self, *nodes: str) -> None:
        """All processes of these nodes, or of all."""
        for node in nodes or tuple(self.processes):
            if process := self.processes.pop(node, None):
                kill_tree(process.pid)
                process.wait()

    def _start(self, node: str, *arguments: str) -> None:
        log = self.folder / f"{node}.log"
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block", *arguments]
        command += ["--node-ip-address", node, "--num-cpus", "1"]
        command += ["--object-store-memory", str(STORE_BYTES)]
        command += ["--dashboard-agent-listen-port", "0", "--temp-dir", str(self.folder / node)]
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, env=self.environment, stdout=file, stderr=file, start_new_session=True
            )
        self.processes[node] = process
        deadline = time.monotonic() + STARTUP_SECONDS
        while STARTED not in log.read_text():
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
