"""The private memory of a process, and its peak in a block."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from infra.peak_memory import private_megabytes, private_peak_megabytes, reset_peak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count it")
SIZE = 64_000_000


def test_pages_of_a_file_are_not_private_and_a_peak_remains(tmp_path: Path) -> None:
    before = private_megabytes()
    assert before is not None
    file = tmp_path / "file"
    file.write_bytes(b"x" * SIZE)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as pages:
        assert sum(pages[place] for place in range(0, SIZE, 4096)) > 0
        assert private_megabytes() < before + 32  # type: ignore[operator]
    assert reset_peak()
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as taken:
        for place in range(0, SIZE, 4096):
            taken[place] = 1
        held = private_megabytes()
    assert held is not None and held > before + 60
    now, peak = private_megabytes(), private_peak_megabytes()
    assert now is not None and now < before + 32
    assert peak is not None and peak > held - 10
    assert private_megabytes(tmp_path) is None and private_peak_megabytes(tmp_path) is None
