"""FactorVAE (Kim & Mnih 2018): γ times the total correlation, estimated by a discriminator.

Maximises ELBO − γ KL(q(z) ‖ ∏ q(z_j)); Locatello et al. 2019, appendix B.

Conventions:
- The density ratio comes from a classifier between samples of q(z) and the same batch shuffled
  within each latent; the total correlation is the mean of logit₀ − logit₁.
- Both losses come from one forward pass of the same batch, as in the authors' released code.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.adam import Adam
from models.fast import Layers, log_odds
from models.objective import Code, Objective, Penalty

WIDTH, HIDDEN_LAYERS, SLOPE = 1000, 6, 0.2  # Duan et al. 2020, Table 6b; the released code's depth


class FactorVAE(Objective):
    def __init__(self, strength: float, latents: int) -> None:
        super().__init__(strength, latents)
        layers: list[nn.Module] = []
        for i in range(HIDDEN_LAYERS):
            layers += [nn.Linear(latents if i == 0 else WIDTH, WIDTH), nn.LeakyReLU(SLOPE)]
        self.discriminator = Layers(*layers, nn.Linear(WIDTH, 2))

    def penalty(self, code: Code, step: int, generator: torch.Generator) -> Penalty:
        z, shuffled = code.sample, shuffle_latents(code.sample.detach(), generator)
        rows, first = torch.cat([z, shuffled]), len(z)
        of_code, of_weights = log_odds(self.discriminator, rows)
        total_correlation = of_code[:first].mean()
        # The cross-entropy of two classes is minus the log-sigmoid of the log odds of the true one.
        adversary = -0.5 * functional.logsigmoid(of_weights[:first]).mean()
        adversary = adversary - 0.5 * functional.logsigmoid(-of_weights[first:]).mean()
        return Penalty(code.kl.sum() + self.strength * total_correlation, adversary)

    def adversary_optimiser(self) -> Adam:
        """Locatello et al. 2019, Table 4c."""
        return Adam(self.parameters(), lr=1e-4, betas=(0.5, 0.9), eps=1e-8)


def shuffle_latents(z: Tensor, generator: torch.Generator) -> Tensor:
    """Permute the batch within each latent separately: samples of the product of marginals."""
    order = torch.rand(z.shape, generator=generator).argsort(dim=0)
    return z.gather(0, order.to(z.device))


OBJECTIVE = FactorVAE
