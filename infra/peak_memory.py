"""The largest resident memory of this process since it was last reset; Linux counts it.

Other systems cannot reset it: theirs would be that of whatever the process did before.
"""

from __future__ import annotations

import re
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
    with suppress(OSError):
        if line := re.search(r"^VmHWM:\s+(\d+) kB", (process / "status").read_text(), re.M):
            return int(line[1]) * 1024 / MEGABYTE
    return None
