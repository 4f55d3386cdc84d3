"""Our Adam gives the bytes of torch's, and continues from its state."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from models.adam import Adam

SETTINGS = {"lr": 1e-2, "betas": (0.8, 0.95), "eps": 1e-7}


def network() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 5, 4), nn.Flatten(), nn.Linear(5, 2), nn.Linear(2, 1))
    return layers.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def steps(layers: nn.Module, optimiser: object, count: int, start: int = 0) -> None:
    for step in range(start, start + count):
        images = torch.rand(6, 3, 4, 4, generator=torch.Generator().manual_seed(step))
        optimiser.zero_grad()  # type: ignore[attr-defined]
        of_all = layers(images).square().sum()
        inputs = list(layers.parameters())
        of_all.backward(inputs=inputs[:-2] if step == 0 else inputs)  # the last has no state yet
        optimiser.step()  # type: ignore[attr-defined]


def same(first: nn.Module, second: nn.Module) -> bool:
    return all(map(torch.equal, first.parameters(), second.parameters()))


def test_steps_have_the_bytes_of_torchs() -> None:
    ours, theirs = network(), network()
    steps(ours, Adam(ours.parameters(), **SETTINGS), 5)  # type: ignore[arg-type]
    steps(theirs, torch.optim.Adam(theirs.parameters(), **SETTINGS, fused=True), 5)  # type: ignore[arg-type]
    assert same(ours, theirs) and not same(ours, network())


@pytest.mark.parametrize("kinds", [(1, 0), (0, 0)])
def test_it_continues_from_a_state(kinds: tuple[int, int]) -> None:
    def made(layers: nn.Module, kind: int) -> object:
        if kind:
            return torch.optim.Adam(layers.parameters(), **SETTINGS, fused=True)  # type: ignore[arg-type]
        return Adam(layers.parameters(), **SETTINGS)  # type: ignore[arg-type]

    layers = network()
    before = made(layers, kinds[0])
    steps(layers, before, 3)
    state = copy.deepcopy(before.state_dict())  # type: ignore[attr-defined]
    steps(layers, before, 2, start=3)
    other = network()
    steps(other, made(other, kinds[0]), 3)
    after = made(other, kinds[1])
    after.load_state_dict(state)  # type: ignore[attr-defined]
    steps(other, after, 2, start=3)
    assert same(layers, other)


def test_a_state_of_other_parameters_is_refused() -> None:
    state = Adam([torch.zeros(2)], 0.1).state_dict()
    with pytest.raises(ValueError, match="1 parameters, not of 2"):
        Adam([torch.zeros(2), torch.zeros(3)], 0.1).load_state_dict(state)
