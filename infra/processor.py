"""The processor of this machine and its instructions, as far as the system says."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")  # of Linux
ARCHITECTURE = platform.machine()
# The widest instructions that change the numbers of a training: what libraries choose between.
VECTORS = {"AVX-512": "avx512f", "AVX2": "avx2", "AVX": "avx", "SVE": "sve", "NEON": "asimd"}
BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # the last is Arm's


def name(cpuinfo: Path = CPU_INFO) -> str:
    return facts(cpuinfo).get("model name") or platform.processor() or ARCHITECTURE


def flags(cpuinfo: Path = CPU_INFO) -> list[str]:
    """What the processor can do, by the system's names; none where the system has no such file."""
    known = facts(cpuinfo)
    return (known.get("flags") or known.get("Features", "")).split()


def widest_vectors(flags: Iterable[str]) -> str:
    flags = set(flags)
    return next((vectors for vectors, flag in VECTORS.items() if flag in flags), "")


def has_bfloat16(cpuinfo: Path = CPU_INFO) -> bool | None:
    """Whether it has instructions for bfloat16; None if the system does not say."""
    known = flags(cpuinfo)
    return not BFLOAT16.isdisjoint(known) if known else None


def facts(cpuinfo: Path = CPU_INFO) -> dict[str, str]:
    """What the system says of the first processor."""
    text = ""
    with suppress(OSError):
        text = cpuinfo.read_text(errors="replace")
    of_first: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        of_first.setdefault(key.strip(), value.strip())
    return of_first
