"""What a result is made with: the code's commit, its lock of packages, and the processor.

What is not known is left out: an installed wheel has neither a commit nor a lock.
"""

from __future__ import annotations

import hashlib
import subprocess
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from infra import processor

ROOT = Path(__file__).parents[1]
LOCK = "requirements.lock"
GIT_SECONDS = 10.0  # it needs much less, but never ends on a drive that does not answer


@lru_cache(maxsize=1)
def made_with() -> dict[str, str]:
    """By name: commit, lock, processor and instructions, as far as they are known."""
    facts = {"commit": commit(), "lock": lock_hash(), **machine()}
    return {name: text for name, text in facts.items() if text}


def commit(root: Path = ROOT) -> str:
    """Of the checkout that the code runs from, with `+changes` if tracked files differ from it."""
    # a wheel may be installed somewhere in another project's checkout: its commit is not ours
    if not ((root / ".git").exists() and (root / "pyproject.toml").exists()):
        return ""
    # without its optional lock, which a git command of the user would meet
    git = ["git", "--no-optional-locks", "-C", str(root)]
    describe = ["describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+changes"]
    with suppress(OSError, subprocess.SubprocessError):  # there is no git, or it refuses
        done = subprocess.run(
            [*git, *describe], capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        )
        return done.stdout.strip()
    return ""


def lock_hash(root: Path = ROOT) -> str:
    """The SHA-256 of the checkout's requirements.lock."""
    if not (root / "pyproject.toml").exists():
        return ""
    with suppress(OSError):
        return hashlib.sha256((root / LOCK).read_bytes()).hexdigest()
    return ""


def machine(cpuinfo: Path = processor.CPU_INFO) -> dict[str, str]:
    """The processor's name and the widest instructions that it has."""
    widest = processor.widest_vectors(processor.flags(cpuinfo))
    instructions = ", ".join(filter(None, (processor.ARCHITECTURE, widest)))
    return {"processor": processor.name(cpuinfo), "instructions": instructions}
