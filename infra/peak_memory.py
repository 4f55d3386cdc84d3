"""What a process has resident and what of it is its own, at most since it was last reset.

Linux counts it. Other systems cannot reset it: theirs would be that of whatever the process did
before.
"""

from __future__ import annotations

import re
import resource
import sys
from contextlib import suppress
from pathlib import Path

PROCESS = Path("/proc/self")
RESET_PEAK = "5"  # see clear_refs in proc(5)
MEGABYTE = 1_000_000


def reset_peak(process: Path = PROCESS) -> bool:
    """Forget the peak so far; whether the system can do that."""
    with suppress(OSError):
        (process / "clear_refs").write_text(RESET_PEAK)
        return True
    return False


def peak_megabytes(process: Path = PROCESS) -> float | None:
    return _megabytes("VmHWM", process)


def private_megabytes(process: Path = PROCESS) -> float | None:
    """What no other process can use: all but the pages of files (data sets, libraries), which
    processes share and which the system takes back when memory is short."""
    return _megabytes("RssAnon", process)


def private_peak_megabytes(process: Path = PROCESS) -> float | None:
    """The peak without the pages of files that are resident now."""
    peak, files = peak_megabytes(process), _megabytes("RssFile", process)
    return None if peak is None or files is None else peak - files


def largest_bytes(used: resource.struct_rusage | None = None) -> int:
    """The largest resident size of this process since it began, or of what `used` says."""
    size = (used or resource.getrusage(resource.RUSAGE_SELF)).ru_maxrss
    return size * (1 if sys.platform == "darwin" else 1024)


def _megabytes(name: str, process: Path) -> float | None:
    with suppress(OSError):
        if line := re.search(rf"^{name}:\s+(\d+) kB", (process / "status").read_text(), re.M):
            return int(line[1]) * 1024 / MEGABYTE
    return None
