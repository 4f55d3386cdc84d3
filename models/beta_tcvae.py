"""β-TCVAE (Chen et al. 2018): β times the total correlation, estimated from the batch.

Maximises ELBO − (β − 1) KL(q(z) ‖ ∏ q(z_j)): the KL to the prior contains the total correlation
once already.

Convention: Locatello et al. 2019, appendix B, name a biased Monte-Carlo estimate without its
formula. As in their released code, q(z) is the mean of the batch's posteriors.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.objective import Code, Objective, Penalty


class BetaTCVAE(Objective):
    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        return Penalty(code.kl.sum() + (self.strength - 1) * total_correlation(code))


def total_correlation(code: Code) -> Tensor:
    """The estimate minus (latents − 1) · ln(rows), a constant that changes no gradient.

    The factor 1/√2π of each latent is left out of the densities, as it cancels.
    """
    z, mean, logvar = code.sample[:, None], code.mean[None], code.logvar[None]
    log_q = -0.5 * ((z - mean).square() * (-logvar).exp() + logvar)  # of sample × row × latent
    joint = log_q.sum(2).logsumexp(1)
    factorised = log_q.logsumexp(1).sum(1)
    return (joint - factorised).mean()


OBJECTIVE = BetaTCVAE
