"""AnnealedVAE, or CCI-VAE (Burgess et al. 2018): the KL follows a capacity C that grows.

Maximises E[log p(x|z)] − γ |KL(q(z|x) ‖ p(z)) − C|; Locatello et al. 2019, appendix B. Table 3 has
γ = 1000 and 100,000 steps to c_max, which is the strength.

Conventions, as in the authors' released code (the papers say only that C grows from zero):
- C grows linearly. Steps count from 0: the first has C = 0, and the 100,001st is the first with
  c_max, which a shorter training never reaches.
- The KL inside the absolute value is the mean of the batch.
"""

from __future__ import annotations

import torch

from models.objective import Code, Objective, Penalty

GAMMA, ANNEALING_STEPS = 1000.0, 100_000  # Table 3


class AnnealedVAE(Objective):
    def capacity(self, step: int) -> float:
        """C in nats at a step, counted from 0."""
        return self.strength * min(1.0, step / ANNEALING_STEPS)

    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        return Penalty(GAMMA * (code.kl.sum() - self.capacity(step)).abs())


OBJECTIVE = AnnealedVAE
