"""An agent that looks one step ahead: of sampled actions, the one with the best predicted scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from data.look_alikes.sprites import Reals, Sprites
from tasks.clustering.reward_predictor import RewardPredictor
from tasks.clustering.transition import Transition
from tasks.clustering.world import Episodes, Step, action_noise, random_actions, step

CANDIDATES = 128  # sampled actions of a step, the same for all episodes side by side

# Codes (rows, latents) of pictures that show one sprite each, from rows of its factors.
Encode: TypeAlias = Callable[[Reals], Reals]


class Play:
    """Episodes side by side, with the codes of their sprites, each seen alone."""

    def __init__(self, episodes: Episodes, encode: Encode) -> None:
        self.episodes, self.encode = episodes, encode
        factors = episodes.sprites.factors()
        codes = encode(factors.reshape(-1, factors.shape[-1]))
        self.codes = _tensor(codes).reshape(*factors.shape[:-1], -1)

    def act(self, actions: Reals, rng: np.random.Generator) -> Step:
        """One step of all episodes; sprites that moved are seen again."""
        taken = step(self.episodes, actions, action_noise(rng, len(actions)))
        self.episodes = taken.episodes
        scenes = np.flatnonzero(taken.moved >= 0)
        if len(scenes):
            seen = self.episodes.sprites.factors()[scenes, taken.moved[scenes]]
            self.codes[scenes, taken.moved[scenes]] = _tensor(self.encode(seen))
        return taken

    def replace_finished(self, new: Episodes) -> None:
        """Finished episodes become those of `new` at the same places."""
        over = np.flatnonzero(self.episodes.finished)
        if len(over):
            fresh = Play(chosen(new, over), self.encode)
            self.episodes = _with_rows(self.episodes, over, fresh.episodes)
            self.codes[over] = fresh.codes

    def keep_unfinished(self) -> NDArray[np.int64]:
        """Drop finished episodes; returns the former places of the others."""
        going = np.flatnonzero(~self.episodes.finished)
        self.episodes, self.codes = chosen(self.episodes, going), self.codes[going]
        return going


def planned(
    codes: Tensor,
    transition: Transition,
    predictor: RewardPredictor | None,
    rng: np.random.Generator,
    exploring: float = 0.0,
) -> Reals:
    """An action for each scene (scenes, sprites, latents).

    Of the candidates that are predicted to move a sprite it is the best; one of them at random
    without a predictor, and in a share `exploring` of scenes; any action if none moves a sprite.
    """
    scenes, sprites, latents = codes.shape
    candidates = random_actions(rng, CANDIDATES)
    changes = transition.changes(codes.reshape(-1, latents), _tensor(candidates))
    changes = changes.reshape(scenes, sprites, CANDIDATES, latents)
    moves = changes.square().sum(-1) > transition.moving
    scene, sprite, action = torch.nonzero(moves, as_tuple=True)
    value = torch.full((scenes, CANDIDATES), -torch.inf)
    value[scene, action] = _tensor(rng.random(len(scene)))
    if predictor is not None:
        explores = torch.as_tensor(rng.random(scenes) < exploring)
        judged = torch.nonzero(~explores[scene])[:, 0]
        scene, sprite, action = scene[judged], sprite[judged], action[judged]
        after = codes[scene]
        after[torch.arange(len(scene)), sprite] += changes[scene, sprite, action]
        with torch.inference_mode():
            value[scene, action] = predictor(after)
    best: Reals = candidates[value.argmax(dim=1).numpy()]
    return best


def chosen(episodes: Episodes, which: NDArray[np.int64]) -> Episodes:
    """These episodes alone."""
    clusters = episodes.clusters
    return replace(
        episodes,
        sprites=Sprites(**{name: rows[which] for name, rows in vars(episodes.sprites).items()}),
        clusters=None if clusters is None else clusters[which],
        steps=episodes.steps[which],
        succeeded=episodes.succeeded[which],
    )


def _with_rows(episodes: Episodes, which: NDArray[np.int64], new: Episodes) -> Episodes:
    """The episodes with those at some places exchanged."""

    def exchanged(name: str, old: object, new: object) -> NDArray[Any]:
        rows: NDArray[Any] = getattr(old, name).copy()
        rows[which] = getattr(new, name)
        return rows

    before, after = episodes.sprites, new.sprites
    sprites: dict[str, Any] = {name: exchanged(name, before, after) for name in vars(before)}
    of_episodes = ("clusters", "steps", "succeeded")
    others: dict[str, Any] = {name: exchanged(name, episodes, new) for name in of_episodes}
    return replace(episodes, sprites=Sprites(**sprites), **others)


def _tensor(values: Reals) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
