"""The transition model: what exploration shows, and what is learned from it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from data.look_alikes.sprites import Reals
from tasks.clustering import transition
from tasks.clustering.exploration import Explored, explore
from tasks.clustering.transition import Transition, learn_transition
from tasks.clustering.world import NOISE, REACH
from tests.tasks.clustering.made_codes import factors_as_codes


@pytest.fixture(scope="module")
def explored() -> Explored:
    return explore(np.random.default_rng(0), 3000)


def test_what_exploration_shows(explored: Explored) -> None:
    """Hit sprites move as their actions say, with noise, and keep all other factors; a quarter of
    the length of the largest move is the noise's 0.05 times 0.25."""
    moved = explored.after[:, :2] - explored.before[:, :2]
    inside = np.abs(explored.after[:, :2] - 0.5).max(axis=1) < 0.5
    noise = moved[inside] - REACH * (explored.actions[inside, 2:] - 0.5)
    assert noise.std() == pytest.approx(REACH * NOISE, rel=0.05)
    assert (explored.after[:, 2:] == explored.before[:, 2:]).all()
    near = np.abs(explored.before[:, :2] - explored.actions[:, :2]).max(axis=1)
    assert 0.01 < np.median(near) < 0.08 and near.max() < 0.35
    assert 1000 < len(explored.before) == len(explored.still)


def test_sprites_that_stayed_were_missed_in_every_step(explored: Explored) -> None:
    assert explored.missed.shape == (len(explored.still), 10, 4)
    apart = np.abs(explored.missed[..., :2] - explored.still[:, None, :2]).max(axis=2)
    # a click into the middle of a sprite hits it, but for those under others, and for noise
    assert (apart < 0.02).mean() < 0.5 * 0.04**2
    assert ((explored.still[:, :2] >= 0.1) & (explored.still[:, :2] <= 0.9)).all()


def test_one_seed_one_exploration() -> None:
    one, same, other = (explore(np.random.default_rng(seed), 50) for seed in (1, 1, 2))
    assert all((vars(one)[name] == vars(same)[name]).all() for name in vars(one))
    assert one.before.shape != other.before.shape or (one.before != other.before).any()


@pytest.fixture(scope="module")
def learned(explored: Explored) -> Iterator[Transition]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transition, "STEPS", 2500)
        yield _learned(explored)


def _learned(explored: Explored) -> Transition:
    before, after, still = (
        factors_as_codes(rows) for rows in (explored.before, explored.after, explored.still)
    )
    return learn_transition(before, explored.actions, after, still, explored.missed, seed=3)


def test_learned_moves(learned: Transition) -> None:
    """Of new sprites that are clicked in their middle, and where a click is far away."""
    new = explore(np.random.default_rng(9), 300).before
    codes = torch.as_tensor(factors_as_codes(new), dtype=torch.float32)
    middle = np.column_stack([new[:, :2], np.tile([1.0, 0.5], (len(new), 1))])
    changes = learned.changes(codes, torch.as_tensor(middle, dtype=torch.float32))
    own = changes[torch.arange(len(new)), torch.arange(len(new))]
    expected = factors_as_codes(new + np.array([REACH / 2, 0, 0, 0, 0, 0])) - codes.numpy()
    errors = (own.numpy() - expected) ** 2
    assert errors.sum(1).mean() < 0.3 * (expected**2).sum(1).mean()
    assert (own.square().sum(1) > learned.moving).float().mean() > 0.9
    far = torch.cdist(torch.as_tensor(new[:, :2]), torch.as_tensor(middle[:, :2])) > 0.3
    assert (changes.square().sum(-1) > learned.moving)[far].float().mean() < 0.01


def test_the_split_first_layer_is_the_network(learned: Transition) -> None:
    generator = torch.Generator().manual_seed(0)
    codes = torch.randn(5, 6, generator=generator)
    actions = torch.rand(7, 4, generator=generator)
    changes = learned.changes(codes, actions)
    assert changes.shape == (5, 7, 6)
    with torch.inference_mode():
        for code, row in zip(codes, changes, strict=True):
            whole = torch.cat([code.expand(7, -1), actions], dim=1)
            torch.testing.assert_close(row, learned.layers(whole), rtol=1e-5, atol=1e-6)


def test_learning_repeats_to_the_bit(explored: Explored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transition, "STEPS", 30)
    first, second = (_learned(explored) for _ in range(2))
    for one, other in zip(first.layers.parameters(), second.layers.parameters(), strict=True):
        assert torch.equal(one, other)
    assert first.moving == second.moving > 0


def test_codes_that_never_change_teach_nothing_and_move_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A collapsed model: no division by zero, and no sprite is predicted to move."""
    monkeypatch.setattr(transition, "STEPS", 30)
    nothing: Reals = np.zeros((40, 3))
    actions = np.random.default_rng(0).random((40, 4))
    learned = learn_transition(nothing, actions, nothing, nothing, actions[:, None], seed=0)
    changes = learned.changes(torch.zeros(2, 3), torch.as_tensor(actions, dtype=torch.float32))
    assert torch.isfinite(changes).all() and not (changes > learned.moving).any()
