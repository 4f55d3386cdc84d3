"""The instruction set that the last digits of a training depend on.

Measured with torch 2.13 on an AMD EPYC: in float32 the weights differ between AVX-512 and AVX2, and
not between kinds of AVX-512; in bfloat16 they also differ where the processor computes in bfloat16
itself. oneDNN computes most of a step, so its own limit (ONEDNN_MAX_CPU_ISA) counts as the
processor's.
"""

from __future__ import annotations

import os

import torch

from infra import processor

VECTORS = ("SSE4.1", "AVX", "AVX2", "AVX-512")  # rising
BFLOAT16 = ("", "BF16", "AMX")  # rising; AMX has bfloat16, too
LIMITS = {  # by the start of oneDNN's names: the widest vectors and bfloat16 that it then uses
    "SSE41": ("SSE4.1", ""),
    "AVX512_CORE_AMX": ("AVX-512", "AMX"),
    "AVX512_CORE_BF16": ("AVX-512", "BF16"),
    "AVX512_CORE_FP16": ("AVX-512", "BF16"),
    "AVX512": ("AVX-512", ""),
    "AVX2": ("AVX2", ""),
    "AVX10": ("AVX-512", "BF16"),
    "AVX": ("AVX", ""),
}
TORCHS = {"AVX-512": "AVX512", "AVX2": "AVX2"}  # its own kernels follow the processor's vectors


def instruction_set(precision: str = "float32", on_gpu: bool = False) -> str:
    """In words, such as `x86_64, AVX-512`; of a GPU its architecture, such as `CUDA 9.0`."""
    if on_gpu:
        return "CUDA {}.{}".format(*torch.cuda.get_device_capability())
    flags = processor.flags()
    vectors = processor.widest_vectors(flags)
    bfloat16 = "AMX" if "amx_bf16" in flags else "BF16" if "avx512_bf16" in flags else ""
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA") or ""
    begins = next((name for name in LIMITS if limit.upper().startswith(name)), None)
    if begins and vectors in VECTORS:
        most, most_bfloat16 = LIMITS[begins]
        vectors = min(vectors, most, key=VECTORS.index)
        bfloat16 = min(bfloat16, most_bfloat16, key=BFLOAT16.index)
    parts = [processor.ARCHITECTURE, vectors, bfloat16 if precision == "bfloat16" else ""]
    capability = torch.backends.cpu.get_cpu_capability()
    if capability != TORCHS.get(vectors, "DEFAULT"):  # ATEN_CPU_CAPABILITY, or an SVE of some width
        parts.append(f"torch {capability}")
    return ", ".join(filter(None, parts))
