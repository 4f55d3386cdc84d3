"""A call that takes too long ends its process, whatever it does; any other is not disturbed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from infra.time_limit import GUARD

SCRIPT = """
import ctypes, os, pathlib, signal, sys, time
import infra.time_limit
from infra.time_limit import ended_after

infra.time_limit.GRACE_SECONDS = 1.0

def report(reason, stack):
    pathlib.Path(sys.argv[1]).write_text(reason + "|" + stack)

def hangs():
    time.sleep(30)

def keeps_the_lock():
    ctypes.PyDLL(None).sleep(30)  # native code that Python's threads wait for

def is_stopped():
    os.kill(os.getpid(), signal.SIGSTOP)

def is_quick():
    pass

with ended_after(float(sys.argv[3]) or None, report):
    globals()[sys.argv[2]]()
time.sleep(2.5)
print("done")
"""


def guards() -> list[str]:
    """Command lines of guards that run."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if GUARD in line]


def run(report: Path, what: str, minutes: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(report), what, str(minutes)],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_call_that_hangs_ends_with_its_stack(tmp_path: Path) -> None:
    assert run(tmp_path / "report", "hangs", 0.005).returncode == 1
    reason, stack = (tmp_path / "report").read_text().split("|")
    assert reason == "not done within 0.005 minutes"
    assert "in hangs" in stack


@pytest.mark.parametrize("what", ["keeps_the_lock", "is_stopped"])
def test_if_threads_hang_too_the_guard_ends_it(tmp_path: Path, what: str) -> None:
    assert run(tmp_path / "report", what, 0.005).returncode == -signal.SIGKILL
    assert not guards(), "the guard ends with what it guards"


@pytest.mark.parametrize("minutes", [0.005, 0.0])
def test_a_call_that_ends_in_time_is_not_disturbed(tmp_path: Path, minutes: float) -> None:
    done = run(tmp_path / "report", "is_quick", minutes)
    assert done.returncode == 0
    assert done.stdout == "done\n"
    assert not guards()
    assert not (tmp_path / "report").exists()
