"""DIP-VAE-I (Kumar et al. 2018): the covariance of the posterior means is to be the identity.

Maximises ELBO − λ_od Σ_{i≠j} Cov[μ(x)]_ij² − λ_d Σ_i (Cov[μ(x)]_ii − 1)²; Locatello et al. 2019,
appendix B.

Conventions:
- The strength is λ_od; λ_d is ten times that (Table 3).
- The covariance is that of the batch, divided by its size, as in the authors' released code.
"""

from __future__ import annotations

import torch

from models.covariance import covariance, distance_to_identity
from models.objective import Code, Objective, Penalty

DIAGONAL = 10  # λ_d / λ_od


class DIPVAEI(Objective):
    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        means = covariance(code.mean)
        distance = distance_to_identity(means, self.strength, DIAGONAL * self.strength)
        return Penalty(code.kl.sum() + distance)


OBJECTIVE = DIPVAEI
