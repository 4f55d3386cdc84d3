"""What was measured of this machine, in a file of the cache; what is missing is measured now."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from data.base.cache import folder
from flows.commands.text import say
from infra.errors import WrongInput
from infra.new_file import written_whole
from infra.runtime import WORKER
from infra.tables import PROTOCOL
from models import RESNETS
from tasks.study.measurements import Measured

START_UP = "start-up"  # the key of `start_up_seconds`
START_UP_LIMIT = 300.0
PREFECT_SERVER = "PREFECT_API_URL"  # not passed on: a run that only measures is not shown there


def measured_here(keys: Sequence[str], renew: bool = False) -> Measured:
    """What the keys of tasks/study/measurements.py mean here, and the seconds of START_UP."""
    path, wanted = _file(), [*keys, START_UP]
    known: Measured = {}
    if path.is_file():
        with suppress(ValueError):  # a damaged file is measured again
            known = json.loads(path.read_text())
    if missing := [key for key in wanted if renew or key not in known]:
        is_slow = any(f'"{network}"' in key for key in missing for network in RESNETS)
        minutes = "some minutes, as the networks are large" if is_slow else "about half a minute"
        say(f"measuring this machine, which takes {minutes} ...")
        if START_UP in missing:
            missing.remove(START_UP)
            known[START_UP] = {"seconds": start_up_seconds(), "when": time.time()}
        known |= measure(missing)
        with suppress(OSError):  # if it cannot be kept, the next plan measures again
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as partial:
                partial.write_text(json.dumps(known))
    return {key: known[key] for key in wanted}


def measure(keys: Sequence[str]) -> Measured:
    """In a process alone, with the settings of a worker."""
    command = [sys.executable, "-m", "tasks.measure", *keys]
    environment = {**os.environ, **WORKER}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise WrongInput("plan", reason, "a study whose models this machine can train and score")
    result: Measured = json.loads(done.stdout)
    return result


def start_up_seconds() -> float:
    """How long a run takes besides its models; 0 where no run can start."""
    began = time.monotonic()
    command = [sys.executable, "-m", "flows.start_up"]
    environment = {name: value for name, value in os.environ.items() if name != PREFECT_SERVER}
    limits: Any = {"timeout": START_UP_LIMIT, "check": True, "capture_output": True}
    with suppress(subprocess.SubprocessError):
        subprocess.run(command, env=environment, **limits)
        return time.monotonic() - began
    return 0.0


def _file() -> Path:
    machine = f"{platform.node()} {platform.machine()} {platform.python_version()} {PROTOCOL}"
    return folder() / f"calibration-{hashlib.sha256(machine.encode()).hexdigest()[:12]}.json"
