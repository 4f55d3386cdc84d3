"""Settings of threads, kernels and defaults: what is set, and what a user's own setting changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra import runtime
from infra.runtime import BLAS_KERNELS, _free_in_container, blas_kernels, workers_that_fit

FLAGS = "avx2 avx512f avx512dq avx512bw avx512vl avx512cd"


@pytest.mark.parametrize(
    ("machine", "flags", "expected"),
    [
        ("x86_64", FLAGS, {BLAS_KERNELS: "SkylakeX"}),
        ("x86_64", FLAGS.replace(" avx512vl", ""), {}),
        ("x86_64", FLAGS.replace("avx512dq", "avx512_dq"), {}),
        ("aarch64", FLAGS, {}),
    ],
)
def test_numpy_uses_avx_512_where_the_machine_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, machine: str, flags: str, expected: object
) -> None:
    monkeypatch.delenv(BLAS_KERNELS, raising=False)
    monkeypatch.setattr("infra.processor.ARCHITECTURE", machine)
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nmodel name\t: X avx512f\nflags\t\t: fpu {flags}\n\n")
    assert blas_kernels(cpuinfo) == expected
    assert blas_kernels(tmp_path / "missing") == {}
    monkeypatch.setenv(BLAS_KERNELS, "Haswell")
    assert blas_kernels(cpuinfo) == {}, "a user's own setting wins"


def test_a_user_s_own_setting_wins() -> None:
    script = "import os; from infra.runtime import quieten; quieten(); print(os.environ[NAME])"
    for name, value, expected in (
        ("DO_NOT_TRACK", "0", "0"),
        ("RAY_USAGE_STATS_ENABLED", None, "0"),
    ):
        env = {k: v for k, v in os.environ.items() if k != name}
        if value is not None:
            env[name] = value
        done = subprocess.run(
            [sys.executable, "-c", script.replace("NAME", repr(name))],
            capture_output=True,
            text=True,
            check=True,
            env=env,
        )
        assert done.stdout.strip() == expected


def test_free_memory_of_a_container_counts_what_files_could_give_back(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 150\nactive_file 50\n")
    assert _free_in_container(tmp_path) == 450
    (tmp_path / "memory.max").write_text("max\n")
    with pytest.raises(ValueError, match="max"):  # no limit, which the caller expects
        _free_in_container(tmp_path)


def test_so_many_workers_fit_in_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "free_memory_bytes", lambda: 10e9)
    assert workers_that_fit() == 20
    assert workers_that_fit(3e9) == 3
