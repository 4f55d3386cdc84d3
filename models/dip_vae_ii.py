"""DIP-VAE-II (Kumar et al. 2018): the covariance of the sampled codes is to be the identity.

Maximises ELBO − λ_od Σ_{i≠j} Cov[z]_ij² − λ_d Σ_i (Cov[z]_ii − 1)²; Locatello et al. 2019,
appendix B, without third moments (appendix F).

Conventions:
- The strength is λ_od, and λ_d is the same (Table 3).
- Nothing is sampled: Cov[z] = E[diag(σ²(x))] + Cov[μ(x)] over the batch, the latter divided by
  the batch's size, as in the authors' released code.
"""

from __future__ import annotations

import torch

from models.covariance import covariance, distance_to_identity
from models.objective import Code, Objective, Penalty

DIAGONAL = 1  # λ_d / λ_od


class DIPVAEII(Objective):
    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        latents = code.logvar.exp().mean(0).diag() + covariance(code.mean)
        distance = distance_to_identity(latents, self.strength, DIAGONAL * self.strength)
        return Penalty(code.kl.sum() + distance)


OBJECTIVE = DIPVAEII
