"""β-TCVAE (Chen et al. 2018): the total correlation, β times, told by the batch itself.

Maximises ELBO − (β − 1) KL(q(z) ‖ ∏ q(z_j)): the KL to the prior holds the total correlation once
already. Locatello et al. 2019, appendix B, name a biased Monte-Carlo estimate and leave it to the
authors' released code: q(z) is taken to be the mean of the batch's own posteriors.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.objective import Code, Objective, Penalty


class BetaTCVAE(Objective):
    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        return Penalty(code.kl.sum() + (self.strength - 1) * total_correlation(code))


def total_correlation(code: Code) -> Tensor:
    """The estimate less (latents − 1) · ln(rows), which no weight depends on.

    The densities lack the factor 1/√2π of each latent, which both terms have alike.
    """
    z, mean, logvar = code.sample[:, None], code.mean[None], code.logvar[None]
    log_q = -0.5 * ((z - mean).square() * (-logvar).exp() + logvar)  # of sample × row × latent
    joint = log_q.sum(2).logsumexp(1)
    factorised = log_q.logsumexp(1).sum(1)
    return (joint - factorised).mean()


OBJECTIVE = BetaTCVAE
