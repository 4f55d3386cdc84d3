"""A try that takes too long ends, whatever it does meanwhile; one that does not goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.time_limit import GUARD

SCRIPT = """
import ctypes, os, pathlib, signal, sys, time
import infra.time_limit
from infra.time_limit import ended_after

infra.time_limit.GRACE_SECONDS = 1.0

def tell(reason, where):
    pathlib.Path(sys.argv[1]).write_text(reason + "|" + where)

def hangs():
    time.sleep(30)

def keeps_the_lock():
    ctypes.PyDLL(None).sleep(30)  # native code that Python's threads wait for

def is_stopped():
    os.kill(os.getpid(), signal.SIGSTOP)

def is_quick():
    pass

with ended_after(float(sys.argv[3]) or None, tell):
    globals()[sys.argv[2]]()
time.sleep(2.5)
print("went on")
"""


def guards() -> list[str]:
    """Command lines of guards that are still there."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if GUARD in line]


def run(place: Path, what: str, minutes: float) -> tuple[subprocess.CompletedProcess[str], float]:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(place), what, str(minutes)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done, time.monotonic() - began


def test_a_try_that_hangs_says_where_and_ends(tmp_path: Path) -> None:
    done, seconds = run(tmp_path / "told", "hangs", 0.005)
    assert done.returncode == 1
    assert seconds < 15
    reason, where = (tmp_path / "told").read_text().split("|")
    assert reason == "not done within 0.005 minutes"
    assert "in hangs" in where


@pytest.mark.parametrize("what", ["keeps_the_lock", "is_stopped"])
def test_where_even_threads_hang_it_is_ended_from_outside(tmp_path: Path, what: str) -> None:
    done, seconds = run(tmp_path / "told", what, 0.005)
    assert done.returncode == -signal.SIGKILL
    assert 1 < seconds < 15
    assert not guards(), "the guard ends with what it guards"


@pytest.mark.parametrize("minutes", [0.005, 0.0])
def test_what_is_done_in_time_goes_on(tmp_path: Path, minutes: float) -> None:
    done, _ = run(tmp_path / "told", "is_quick", minutes)
    assert done.returncode == 0
    assert done.stdout == "went on\n"
    assert not guards()
    assert not (tmp_path / "told").exists()
