"""Training needs neither torchmetrics nor torch's compiler, which stay as they are for others."""

from __future__ import annotations

import subprocess
import sys

LARGE = ("torchmetrics", "torch._dynamo", "sympy", "matplotlib", "scipy", "pandas")

# Two optimisers, two chunks and a checkpoint.
TRAINS = f"""
import sys
import torch
from models import build_objective
from models.architecture import VAE
from models.recipe import Recipe
from models.training import Feed, TrainingModule

images = torch.rand(2, 1, 64, 64).contiguous(memory_format=torch.channels_last)
feed = Feed(lambda step: images, lambda step: torch.Generator().manual_seed(step))
def module():
    return TrainingModule(VAE(1, 2), build_objective("factor_vae", 1.0, 2), Recipe(steps=21), feed)
training = module()
training.initialise(torch.Generator().manual_seed(0))
training.run()
module().restore(training.checkpoint())
assert training.done == 21
print(*[name for name in {LARGE} if name in sys.modules])
import torchmetrics, torch._dynamo
print(torchmetrics.MeanMetric.__name__, torch._dynamo.OptimizedModule.__module__)
"""


def test_a_training_imports_nothing_that_it_does_not_use() -> None:
    done = subprocess.run([sys.executable, "-c", TRAINS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported, others = done.stdout.splitlines()
    assert imported == ""
    assert others == "MeanMetric torch._dynamo.eval_frame"
