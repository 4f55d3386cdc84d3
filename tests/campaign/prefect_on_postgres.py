"""PostgreSQL, and a Prefect server that keeps its runs there; either can be taken away."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.campaign.family import free_port, kill_tree

DEBIAN = Path("/usr/lib/postgresql")
PACKAGE = "postgresql"  # Debian's
STARTUP_SECONDS = 240.0
UNDER_WAY = ["RUNNING", "CANCELLING"]


def programs() -> Path | None:
    """Where PostgreSQL's programs are, the newest version's; Debian has them off the PATH."""
    versions = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda program: float(program.parts[-3]))
    return versions[-1].parent if versions else None


class Postgres:
    def __init__(self, folder: Path) -> None:
        folder_of_programs = programs()
        assert folder_of_programs
        self.programs, self.data, self.port = folder_of_programs, folder / "postgres", free_port()
        self.data.mkdir(mode=0o700)
        if os.geteuid() == 0:  # PostgreSQL refuses to be root
            shutil.chown(self.data, "postgres", "postgres")
        self._call("initdb", "--auth=trust", "--username=postgres", "-D", str(self.data))
        self.start()
        self._call("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "prefect")

    @property
    def url(self) -> str:
        return f"postgresql+asyncpg://postgres@127.0.0.1:{self.port}/prefect"

    def start(self) -> None:
        listen = f"-h 127.0.0.1 -p {self.port} -k ''"
        log = str(self.data / "log")
        self._call(
            "pg_ctl", "start", "-w", "-t", "120", "-D", str(self.data), "-l", log, "-o", listen
        )

    def stop(self) -> None:
        """End PostgreSQL as a crash does: nothing more is written."""
        with suppress(subprocess.CalledProcessError):  # it is not running
            self._call("pg_ctl", "stop", "-m", "immediate", "-D", str(self.data))

    def _call(self, program: str, *arguments: str) -> None:
        as_owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        subprocess.run(
            [*as_owner, str(self.programs / program), *arguments],
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class PrefectServer:
    def __init__(self, folder: Path, database: Postgres, environment: dict[str, str]) -> None:
        self.log, self.port = folder / "prefect.log", free_port()
        self.environment = {
            **environment,
            "PREFECT_API_DATABASE_CONNECTION_URL": database.url,
            "PREFECT_UI_ENABLED": "false",
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.given_up: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    def start(self) -> None:
        command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1"]
        with self.log.open("ab") as file:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port)],
                env=self.environment,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.wait()

    def wait(self) -> None:
        """Wait until the server answers from its database."""
        deadline = time.monotonic() + STARTUP_SECONDS
        while True:
            try:
                self.ask("flow_runs/count", {})
                return
            except OSError:
                runs = self.process and self.process.poll() is None
                assert runs and time.monotonic() < deadline, self.log.read_text()[-5000:]
                time.sleep(0.5)

    def kill(self) -> None:
        if self.process:
            kill_tree(self.process.pid)
            self.process.wait()

    def under_way(self) -> list[str]:
        """Flow and task runs that Prefect shows as Running, except those of lost rounds."""
        return [f"{run['name']} {run['state_name']}" for run in self._under_way()]

    def give_up(self) -> None:
        """Leave out the runs that are Running now from later answers."""
        self.given_up |= {run["id"] for run in self._under_way()}

    def _under_way(self) -> list[Any]:
        state = {"state": {"type": {"any_": UNDER_WAY}}}
        flows = self.ask("flow_runs/filter", {"flow_runs": state})
        tasks = self.ask("task_runs/filter", {"task_runs": state})
        return [run for run in [*flows, *tasks] if run["id"] not in self.given_up]

    def ask(self, what: str, filters: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{self.url}/{what}",
            json.dumps(filters).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
