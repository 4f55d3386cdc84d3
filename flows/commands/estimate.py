"""What a study would cost on this machine, from a few measured training steps."""

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
from dataclasses import dataclass
from pathlib import Path

from data.base.cache import folder
from data.base.protocol import Description
from infra.runtime import WORKER
from infra.tables import PROTOCOL
from tasks.data_sets import describe
from tasks.study.spec import Study, images_per_model
from tasks.study.survey import CellState

BATCH_MEASURED = 64  # other batch sizes are taken in proportion


@dataclass(frozen=True)
class Estimate:
    """Core-hours of what is left, and what they were computed from."""

    training_hours: float
    scoring_hours: float
    seconds_per_step: dict[str, float]
    measured: str

    @property
    def core_hours(self) -> float:
        return self.training_hours + self.scoring_hours


def estimate(study: Study, found: Sequence[CellState], renew: bool = False) -> Estimate:
    """Core-hours of the models that are left, measuring what has not been measured here."""
    channels = {one.name: describe(one).channels for one in study.data}
    networks = {
        f"{method} {count} {study.architecture} {study.latents}"
        for method in study.methods
        for count in channels.values()
    }
    known = _calibration(sorted(networks), renew)
    training = scoring = 0.0
    images = {one.name: _images_per_model(study, describe(one)) for one in study.data}
    for one in found:
        first = one.cell.models[0]
        network = f"{first.method} {channels[first.data]} {study.architecture} {study.latents}"
        step = known[network]["step"] * study.training.batch_size / BATCH_MEASURED
        training += len(one.unfinished) * study.training.steps * step
        scored = images[first.data] * known[network]["image"]
        scoring += (len(one.unfinished) + len(one.unscored)) * scored
    steps = {network: known[network]["step"] for network in sorted(networks)}
    oldest = min(known[network]["when"] for network in networks)
    when = time.strftime("%Y-%m-%d", time.localtime(oldest))
    return Estimate(training / 3600, scoring / 3600, steps, when)


def _images_per_model(study: Study, data_set: Description) -> int:
    """Images that one model encodes for its probe and its scores: each picture once at most."""
    read = images_per_model(study.metrics, data_set.factor_sizes)
    return study.probe + min(read, data_set.pictures or read)


def _calibration(networks: list[str], renew: bool) -> dict[str, dict[str, float]]:
    """Seconds per step and per encoded image, from the cache or measured in a process alone."""
    path = _calibration_file()
    known: dict[str, dict[str, float]] = {}
    if not renew and path.is_file():
        try:
            known = json.loads(path.read_text())
        except ValueError:
            known = {}
    missing = [network for network in networks if network not in known]
    if missing:
        print(f"measuring {len(missing)} kinds of training step ...", file=sys.stderr, flush=True)
        measured = subprocess.run(
            [sys.executable, "-m", "tasks.calibrate", *missing],
            env={**os.environ, **WORKER},
            check=True,
            capture_output=True,
            text=True,
        )
        known.update(json.loads(measured.stdout))
        with suppress(OSError):  # without a place to remember it, the next plan measures again
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_text(json.dumps(known))
            temporary.replace(path)
    return known


def _calibration_file() -> Path:
    machine = f"{platform.node()} {platform.machine()} {platform.python_version()} {PROTOCOL}"
    return folder() / f"calibration-{hashlib.sha256(machine.encode()).hexdigest()[:12]}.json"
