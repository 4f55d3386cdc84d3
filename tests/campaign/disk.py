"""A small disk for the store, which can be filled or made read-only; root may mount one."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

SIZE = "640m"
BLOCK = 1 << 20


class Disk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.mounted = sys.platform == "linux" and _did(
            "mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tolstoy", str(folder)
        )
        self.ballast = folder / "ballast"

    def fill(self) -> None:
        with self.ballast.open("ab", buffering=0) as file, suppress(OSError):
            while file.write(bytes(BLOCK)):
                pass

    def free(self) -> None:
        self.ballast.unlink(missing_ok=True)

    def protect(self) -> bool:
        """Make it read-only; refused while a file is open for writing."""
        deadline = time.monotonic() + 20
        while not _did("mount", "-o", "remount,ro", str(self.folder)):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def release(self) -> None:
        _did("mount", "-o", "remount,rw", str(self.folder))

    def remove(self) -> None:
        if self.mounted:
            _did("umount", "-l", str(self.folder))


def _did(*command: str) -> bool:
    with suppress(FileNotFoundError):
        return subprocess.run(command, capture_output=True).returncode == 0
    return False
