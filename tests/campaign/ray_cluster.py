"""A Ray cluster of two nodes with token authentication, each at an address of its own."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.campaign.family import free_port, kill_tree
from tests.campaign.network import Loopback

STARTED = "Ray runtime started"
STARTUP_SECONDS = 180.0
STARTS = 3
STORE_BYTES = 100 * 2**20


class NotStarted(Exception):
    """What `ray start` printed."""


class RayCluster:
    def __init__(
        self, folder: Path, environment: dict[str, str], network: Loopback | None = None
    ) -> None:
        network = network or Loopback()
        self.folder, self.network = folder, network
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        self.token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        self.switches: dict[str, str] = {}  # of Ray, for nodes and drivers that start from now on
        self.environment = environment
        self.port = free_port(network.head)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        return f"{self.network.head}:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """What a driver needs in its environment."""
        return {**self.token, **self.switches}

    def start(self) -> None:
        """With Ray's switches for tests a head may end by itself as it starts: then once more."""
        for _ in range(STARTS - 1):
            with suppress(NotStarted):
                self.start_head()
                self.start_node()
                return
        self.start_head()
        self.start_node()

    def start_head(self, *arguments: str) -> None:
        """A head without other nodes, and without a dashboard unless arguments ask for one."""
        self.kill()
        self.port = free_port(self.network.head)
        dashboard = arguments or ("--include-dashboard", "false")
        self._start(self.network.head, "--head", "--port", str(self.port), *dashboard)

    def start_node(self, more: Mapping[str, str] = {}) -> None:
        """Start the second node, with more variables in its environment."""
        self._start(self.network.node, "--address", self.address, more=more)

    def has_ended(self, node: str) -> bool:
        return node not in self.processes or self.processes[node].poll() is not None

    def kill(self, *nodes: str) -> None:
        """All processes of these nodes, or of all."""
        for node in nodes or tuple(self.processes):
            if process := self.processes.pop(node, None):
                kill_tree(process.pid)
                process.wait()

    def _start(self, node: str, *arguments: str, more: Mapping[str, str] = {}) -> None:
        log = self.folder / f"{node}.log"
        command = self.network.inside if node == self.network.node else []
        command += [str(Path(sys.executable).with_name("ray")), "start", "--block", *arguments]
        command += ["--node-ip-address", node, "--num-cpus", "1"]
        command += ["--object-store-memory", str(STORE_BYTES)]
        command += ["--dashboard-agent-listen-port", "0", "--temp-dir", str(self.folder / node)]
        with log.open("wb") as file:
            process = subprocess.Popen(
                command,
                env={**self.environment, **self.settings, **more},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.processes[node] = process
        deadline = time.monotonic() + STARTUP_SECONDS
        while STARTED not in log.read_text():
            if self._cannot_start(node) or time.monotonic() > deadline:
                raise NotStarted(log.read_text())
            time.sleep(0.2)

    def _cannot_start(self, node: str) -> bool:
        others = node != self.network.head and self.network.head in self.processes
        return self.has_ended(node) or (others and self.has_ended(self.network.head))
