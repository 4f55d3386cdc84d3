"""What is seen of sprites while clicks are random and nothing is rewarded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from data.look_alikes.sprites import Reals
from tasks.clustering.scenes import exploration
from tasks.clustering.world import action_noise, random_actions, step


@dataclass(frozen=True, eq=False)
class Explored:
    """Rows of factors are as data.look_alikes.sprites says; actions are without their noise."""

    before: Reals  # (moves, 6): sprites that were hit, before and after they moved
    actions: Reals  # (moves, 4)
    after: Reals  # (moves, 6)
    still: Reals  # (sprites, 6): as many that no action of their episode has hit
    missed: Reals  # (sprites, steps, 4)


def explore(rng: np.random.Generator, episodes: int) -> Explored:
    """Play exploration episodes from their first step to their last with random clicks."""
    start = now = exploration(rng, episodes)
    is_hit = ~now.sprites.present
    everywhere = np.arange(is_hit.shape[1])
    moves: list[tuple[Reals, Reals, Reals]] = []
    clicks: list[Reals] = []
    for _ in range(now.length):
        actions = random_actions(rng, episodes)
        taken = step(now, actions, action_noise(rng, episodes))
        moved = everywhere == taken.moved[:, None]
        before, after = now.sprites.factors(), taken.episodes.sprites.factors()
        moves.append((before[moved], actions[moved.any(axis=1)], after[moved]))
        clicks.append(actions)
        is_hit |= moved
        now = taken.episodes
    before, actions, after = (np.concatenate(parts) for parts in zip(*moves, strict=True))
    scene, sprite = np.nonzero(~is_hit)
    some = rng.permutation(len(scene))[: len(before)]
    still = start.sprites.factors()[scene[some], sprite[some]]
    return Explored(before, actions, after, still, np.stack(clicks, axis=1)[scene[some]])
