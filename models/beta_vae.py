"""β-VAE (Higgins et al. 2017): β times the KL to the prior.

Maximises E[log p(x|z)] − β KL(q(z|x) ‖ p(z)); Locatello et al. 2019, appendix B.
"""

from __future__ import annotations

import torch

from models.objective import Code, Objective, Penalty


class BetaVAE(Objective):
    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        return Penalty(self.strength * code.kl.sum())


OBJECTIVE = BetaVAE
