"""AnnealedVAE, or CCI-VAE (Burgess et al. 2018): a capacity C that the KL has to meet, and grows.

Maximises E[log p(x|z)] − γ |KL(q(z|x) ‖ p(z)) − C|; Locatello et al. 2019, appendix B. Table 3 has
γ = 1000 and 100,000 steps to c_max, which is the strength. The papers say only that C grows from
zero: linearly is the authors' released code, as are the batch's mean KL inside the absolute value
and the count of steps from 0, so that the first step has C = 0 and step 100,000, the 100,001st, is
the first with c_max. A training that ends earlier never gets there.
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
