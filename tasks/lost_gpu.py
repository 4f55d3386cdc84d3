"""A GPU that is lost in mid-step: what torch then raises, and the end of its process.

After such an error the process can use the GPU no more, and what the last step left is unknown. So
the process ends, as at its time limit; the driver tries the model again in another one, from its
checkpoint.
"""

from __future__ import annotations

import os
import traceback

import torch

from tasks.log import Log

STATUS = 1  # of the process


def gpu_is_lost(error: BaseException) -> bool:
    """Whether the error concerns the whole process. Too little memory does not."""
    if isinstance(error, torch.OutOfMemoryError):
        return False
    return isinstance(error, torch.AcceleratorError) or (
        isinstance(error, RuntimeError) and "CUDA error: " in str(error)
    )


def end_process(error: BaseException, log: Log) -> None:
    """Write the reason to the log, then end this process without another call of torch."""
    reason = " ".join(str(error).split("\n")[0].split())
    log.end(f"the GPU was lost ({reason})", "".join(traceback.format_exception(error)))
    os._exit(STATUS)
