"""Which instruction set a training is said to have, by processor, limits and precision."""

from __future__ import annotations

import pytest
import torch

from infra import processor
from models.instructions import instruction_set

SKYLAKE = ["sse4_1", "avx", "avx2", "avx512f", "avx512dq"]
SAPPHIRE_RAPIDS = [*SKYLAKE, "avx512_bf16", "amx_tile", "amx_bf16"]
HASWELL = ["sse4_1", "avx", "avx2"]


@pytest.mark.parametrize(
    ("flags", "torchs", "limit", "in_float32", "in_bfloat16"),
    [
        (SKYLAKE, "AVX512", "", "x, AVX-512", "x, AVX-512"),
        (SAPPHIRE_RAPIDS, "AVX512", "", "x, AVX-512", "x, AVX-512, AMX"),
        (SAPPHIRE_RAPIDS, "AVX512", "avx512_core_bf16", "x, AVX-512", "x, AVX-512, BF16"),
        (SAPPHIRE_RAPIDS, "AVX512", "AVX512_CORE_VNNI", "x, AVX-512", "x, AVX-512"),
        (HASWELL, "AVX2", "", "x, AVX2", "x, AVX2"),
        (HASWELL, "AVX2", "AVX512_CORE_AMX", "x, AVX2", "x, AVX2"),
        (SAPPHIRE_RAPIDS, "AVX2", "AVX2_VNNI", "x, AVX2", "x, AVX2"),
        (SKYLAKE, "AVX2", "", "x, AVX-512, torch AVX2", "x, AVX-512, torch AVX2"),
        (SKYLAKE, "AVX512", "a typing error", "x, AVX-512", "x, AVX-512"),
        (["asimd", "sve"], "SVE256", "AVX2", "x, SVE, torch SVE256", "x, SVE, torch SVE256"),
        ([], "DEFAULT", "", "x", "x"),
    ],
)
def test_on_other_processors(
    flags: list[str],
    torchs: str,
    limit: str,
    in_float32: str,
    in_bfloat16: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processor, "ARCHITECTURE", "x")
    monkeypatch.setattr(processor, "flags", lambda: flags)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: torchs)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
    assert instruction_set() == in_float32
    assert instruction_set("bfloat16") == in_bfloat16


def test_a_gpu_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    assert instruction_set(on_gpu=True) == "CUDA 9.0"
