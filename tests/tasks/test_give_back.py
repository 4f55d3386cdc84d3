"""What a task leaves behind does not stay with the process, and what is in use stays whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from data.base import pixels
from infra.runtime import WORKER
from tasks.give_back import give_back

# Pieces that stay in use, scattered among many that are freed, as after a training.
SCATTERED = """
import numpy as np
from infra.peak_memory import private_megabytes
from tasks.give_back import give_back
give_back()
before = private_megabytes()
arrays = [np.ones(10**6, np.uint8) for _ in range(200)]
arrays = arrays[::50]
kept = private_megabytes()
give_back()
print(kept - before, private_megabytes() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_freed_memory_goes_back_to_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCATTERED],
        env={**os.environ, **WORKER},
        capture_output=True,
        text=True,
        check=True,
    )
    kept, after = map(float, done.stdout.split())
    assert kept > 190, "a worker keeps what it frees while a task runs"
    assert after < 20


def test_mapped_pictures_can_be_read_again(tmp_path: Path) -> None:
    array = np.arange(3 * 5000, dtype=np.uint8).reshape(3, 5000)
    mapped = pixels.prepared(tmp_path / "file.pixels", array.shape, lambda: [array])
    assert np.array_equal(mapped, array) and not mapped.flags.writeable
    give_back()
    assert np.array_equal(mapped, array)
