"""The transition model: what an action does to the code of one sprite.

A network of two hidden layers reads a sprite's code and an action, and says how the code changes.
It learns from unrewarded steps, once per representation, and all sprites share it, as in COBRA.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from data.look_alikes.sprites import Reals
from tasks.clustering.world import ACTION

HIDDEN = 128
STEPS = 8000  # of Adam
BATCH = 512
ONE_IN = 8  # rows of a batch is of a sprite that moved; among all rows these are one in 60
RATE = 3e-3
MOVING = 0.25  # of the mean squared change of a sprite that was hit: more counts as a move


def network(inputs: int, hidden: int, outputs: int, generator: torch.Generator) -> nn.Sequential:
    """Two hidden layers with ReLU; weights are uniform within 1/sqrt(inputs of the layer)."""
    sizes = (inputs, hidden, hidden, outputs)
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        linear = nn.Linear(before, after)
        with torch.no_grad():
            for weights in linear.parameters():
                bound = 1 / math.sqrt(before)
                weights.uniform_(-bound, bound, generator=generator)
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Transition:
    """The learned model. `moving` is the squared change from which a sprite counts as moved."""

    def __init__(self, layers: nn.Sequential, moving: float) -> None:
        self.layers, self.moving = layers, moving

    @torch.inference_mode()
    def changes(self, codes: Tensor, actions: Tensor) -> Tensor:
        """How each action would change each code: (codes, actions, latents)."""
        first, *rest = self.layers
        assert isinstance(first, nn.Linear)
        of_codes, of_actions = first.weight.split([codes.shape[-1], ACTION], dim=1)
        # The first layer is a sum of both parts, so each is computed once.
        values: Tensor = (codes @ of_codes.T + first.bias)[:, None] + actions @ of_actions.T
        for layer in rest:
            values = layer(values)
        return values


def learn_transition(
    before: Reals, actions: Reals, after: Reals, still: Reals, missed: Reals, seed: int
) -> Transition:
    """From codes `before` and `after` each of some actions (moves, ...), and from codes `still`
    (sprites, latents) of sprites that stayed where they were in spite of the actions `missed`
    (sprites, steps, 4)."""
    generator = torch.Generator().manual_seed(seed)
    codes, later, unmoved = (_tensor(values) for values in (before, after, still))
    taken, untaken = _tensor(actions), _tensor(missed)
    latents, hits = codes.shape[1], BATCH // ONE_IN
    layers = network(latents + ACTION, HIDDEN, latents, generator)
    optimiser = torch.optim.Adam(layers.parameters(), RATE, fused=True)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, STEPS)
    for _ in range(STEPS):
        hit = torch.randint(len(codes), (hits,), generator=generator)
        unhit = torch.randint(len(unmoved), (BATCH - hits,), generator=generator)
        step = torch.randint(untaken.shape[1], (BATCH - hits,), generator=generator)
        states = torch.cat([codes[hit], unmoved[unhit]])
        inputs = torch.cat([states, torch.cat([taken[hit], untaken[unhit, step]])], dim=1)
        errors = layers(inputs) - torch.cat([later[hit], unmoved[unhit]]) + states
        loss = errors.square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        decay.step()
    change = float((later - codes).square().sum(1).mean())
    # of a collapsed model, whose codes never change, no sprite is ever seen to move
    return Transition(layers, MOVING * change or math.inf)


def _tensor(values: Reals) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
