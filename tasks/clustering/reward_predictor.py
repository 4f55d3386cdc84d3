"""The reward predictor: how good a scene is, from how far the codes of its sprites differ.

Codes pass a linear map, which begins as the identity. Of each pair of sprites a network reads the
absolute difference in each dimension; another reads the mean of its outputs over all pairs. So the
order of sprites does not matter, and what matters is easiest to learn where latents hold it apart
from what does not. It learns from rewarded steps alone. Rewards have a long tail, so what it
predicts is the logarithm of the quality that they are linear in; an agent needs only the order of
scenes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tasks.clustering.transition import network
from tasks.clustering.world import REWARD_RANGE, WELL_CLUSTERED

HIDDEN = 64
RELATIONS = 16  # numbers that describe a pair
STEPS = 1500  # of Adam, each time that the predictor learns
BATCH = 128
RATE = 3e-3
DECAY = 0.01  # of weights
LOWEST = 0.05  # quality; less counts as that


class RewardPredictor(nn.Module):
    def __init__(self, latents: int, generator: torch.Generator) -> None:
        super().__init__()
        self.turned = nn.Linear(latents, latents, bias=False)
        nn.init.eye_(self.turned.weight)
        self.of_pair = network(latents, HIDDEN, RELATIONS, generator)
        self.of_scene = network(RELATIONS, HIDDEN, 1, generator)

    def forward(self, codes: Tensor) -> Tensor:
        """The logarithm of each scene's quality: (scenes, sprites, latents) to (scenes,)."""
        first, second = torch.triu_indices(codes.shape[1], codes.shape[1], offset=1)
        turned = self.turned(codes)
        relations = self.of_pair((turned[:, first] - turned[:, second]).abs()).relu()
        values: Tensor = self.of_scene(relations.mean(dim=1))[:, 0]
        return values


def log_quality(rewards: Tensor) -> Tensor:
    """The logarithm of the quality of scenes with these rewards."""
    return (2 * rewards / REWARD_RANGE + WELL_CLUSTERED).clamp_min(LOWEST).log()


def learn_rewards(codes: Tensor, rewards: Tensor, generator: torch.Generator) -> RewardPredictor:
    """A new predictor, from scenes (scenes, sprites, latents) and their rewards (scenes,)."""
    targets = log_quality(rewards)
    predictor = RewardPredictor(codes.shape[-1], generator)
    optimiser = torch.optim.AdamW(predictor.parameters(), RATE, weight_decay=DECAY, fused=True)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, STEPS)
    for _ in range(STEPS):
        rows = torch.randint(len(codes), (BATCH,), generator=generator)
        loss = (predictor(codes[rows]) - targets[rows]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        decay.step()
    return predictor
