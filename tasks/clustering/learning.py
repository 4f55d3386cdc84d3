"""How many rewarded steps agents need until they succeed in nine of ten scenes they never met.

The transition model is given: it is learned first, from unrewarded steps, and its steps do not
count. An agent then plays, learns a reward predictor from all of its rewarded steps, is tested, and
plays on, until a test is passed or its budget of steps is spent. Agents of one representation
differ in the weights that their predictor begins with, in their scenes and in their clicks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from data.base.pixels import as_floats
from data.look_alikes.sprite_pictures import draw
from data.look_alikes.sprites import Reals, from_factors
from metrics.base.inputs import Learned
from models.network import Network
from models.representation import encode
from tasks.clustering.agent import Encode, Play, planned
from tasks.clustering.exploration import explore
from tasks.clustering.reward_predictor import RewardPredictor, learn_rewards
from tasks.clustering.scenes import TEST_HUES, TRAIN_HUES, clustering
from tasks.clustering.transition import Transition, learn_transition


@dataclass(frozen=True)
class Settings:
    """Chosen here where the papers say nothing (docs/choices.md)."""

    agents: int = 5  # per representation; Duan et al. 2020, appendix A.8
    success: float = 0.9  # of a test's scenes; the same place
    explored: int = 10_000  # episodes of unrewarded steps
    together: int = 10  # episodes that an agent plays side by side while it learns
    first: int = 200  # rewarded steps before the first test
    growth: float = 1.4  # of the steps from test to test
    budget: int = 30_000  # rewarded steps at the most
    tested: int = 40  # scenes of a test
    exploring: float = 0.25  # of an agent's steps while it learns, after the first test


def learn_clustering(network: Network, rng: np.random.Generator) -> Learned:
    """By agents that see each sprite by its mean code."""

    def codes(factors: Reals) -> Reals:
        pictures = draw(from_factors(factors))
        means, _ = encode(network, as_floats(pictures, np.arange(len(pictures))))
        return means.astype(np.float64)

    return learn_task(codes, rng)


def learn_task(
    encode: Encode, rng: np.random.Generator, settings: Settings | None = None
) -> Learned:
    """All agents of one representation; each has its own random stream."""
    settings = settings or Settings()
    for_exploring, for_network, *for_agents = rng.spawn(2 + settings.agents)
    scaled, transition = _explored(encode, for_exploring, for_network, settings.explored)
    steps, success, other_hues = [], [], []
    for stream in for_agents:
        tests = list(_tests(scaled, transition, stream, settings))
        taken, share, predictor = tests[-1]
        steps.append(taken if share >= settings.success else np.nan)
        success.append(share)
        scenes = clustering(stream, settings.tested, TEST_HUES)
        other_hues.append(_succeeded(Play(scenes, scaled), transition, predictor, stream))
    return Learned(np.array(steps), np.array(success), np.array(other_hues), settings.budget)


def _explored(
    encode: Encode, rng: np.random.Generator, for_network: np.random.Generator, episodes: int
) -> tuple[Encode, Transition]:
    """The encoder with codes around 0 and of mean square 1, and what actions do to its codes.

    All latents have one scale, so that those which carry nothing stay small.
    """
    explored = explore(rng, episodes)
    before = encode(explored.before)
    centre = before.mean(axis=0)
    scale = np.sqrt(np.mean((before - centre) ** 2)) or 1.0

    def scaled(factors: Reals) -> Reals:
        codes: Reals = (encode(factors) - centre) / scale
        return codes

    transition = learn_transition(
        (before - centre) / scale,
        explored.actions,
        scaled(explored.after),
        scaled(explored.still),
        explored.missed,
        seed=int(for_network.integers(2**31)),
    )
    return scaled, transition


def _tests(
    encode: Encode, transition: Transition, rng: np.random.Generator, settings: Settings
) -> Iterator[tuple[int, float, RewardPredictor]]:
    """Steps taken, share of success and predictor of each test, up to the one that is passed."""
    for_playing, for_testing, for_network = rng.spawn(3)
    generator = torch.Generator().manual_seed(int(for_network.integers(2**31)))
    play = Play(clustering(for_playing, settings.together), encode)
    predictor: RewardPredictor | None = None
    codes, rewards = [], []
    taken = 0
    for until in _numbers_of_steps(settings):
        while taken < until:
            exploring = settings.exploring
            actions = planned(play.codes, transition, predictor, for_playing, exploring)
            step = play.act(actions, for_playing)
            codes.append(play.codes.clone())
            rewards.append(torch.as_tensor(step.rewards, dtype=torch.float32))
            play.replace_finished(clustering(for_playing, settings.together))
            taken += settings.together
        predictor = learn_rewards(torch.cat(codes), torch.cat(rewards), generator)
        scenes = clustering(for_testing, settings.tested, TRAIN_HUES)
        share = _succeeded(Play(scenes, encode), transition, predictor, for_testing)
        yield taken, share, predictor
        if share >= settings.success:
            return


def _numbers_of_steps(settings: Settings) -> Iterator[int]:
    """When tests are: from the first to the budget, in multiples of what is played at once."""
    for test in itertools.count():
        steps = settings.first * settings.growth**test
        if steps >= settings.budget:
            yield settings.budget
            return
        yield round(steps / settings.together) * settings.together


def _succeeded(
    play: Play, transition: Transition, predictor: RewardPredictor, rng: np.random.Generator
) -> float:
    """The share of episodes that end in success."""
    count, succeeded = len(play.codes), 0
    while len(play.codes):
        play.act(planned(play.codes, transition, predictor, rng), rng)
        succeeded += int(play.episodes.succeeded.sum())
        play.keep_unfinished()
    return succeeded / count
