"""Layers that are right pass, in both precisions and forms; a wrong one is named."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models import METHODS, fast
from models.architecture import VAE
from models.building import build_network
from models.layer_check import WrongLayer, check_layers


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("is_fast", [True, False])
@pytest.mark.parametrize("architecture", ["paper", "library", "resnet_small"])
def test_right_layers_pass(architecture: str, is_fast: bool, dtype: torch.dtype) -> None:
    network = VAE(1, 5, architecture, is_fast)
    before = copy.deepcopy(network.state_dict())
    check_layers(network, dtype)
    assert all(torch.equal(before[name], now) for name, now in network.state_dict().items())
    assert all(part.grad is None for part in network.parameters())


@pytest.mark.parametrize("method", METHODS)
def test_networks_of_all_methods_can_be_checked(method: str) -> None:
    architecture = (METHODS[method].architectures or ("paper",))[-1]
    check_layers(build_network(method, 1, 3, architecture), torch.float32)


class WrongForward(nn.Conv2d):
    def forward(self, values: Tensor) -> Tensor:
        result = super().forward(values)
        result[..., -1, -1] *= 1.5  # one pixel in the corner
        return result


def test_a_wrong_result_is_named() -> None:
    network = VAE(1, 5, fast=False)
    network.encoder.features[4] = WrongForward(32, 64, 4, stride=2, padding=1)
    with pytest.raises(WrongLayer, match=r"the result of WrongForward\(32, 64.* 2 x 32 x 16 x 16"):
        check_layers(network, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_wrong_gradient_is_named(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    right = fast._Transposed.backward

    def without_a_tap(*arguments: Any) -> Any:
        before, kernel, bias = right(*arguments)
        assert kernel is not None
        kernel[:, :, 0, 0] = 0
        return before, kernel, bias

    monkeypatch.setattr(fast._Transposed, "backward", without_a_tap)
    with pytest.raises(WrongLayer, match="the gradient by the weight of ConvTranspose2d") as raised:
        check_layers(VAE(1, 5), dtype)
    assert "\n" not in str(raised.value)


def test_numbers_that_are_not_finite_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    right = fast._Linear.forward
    monkeypatch.setattr(fast._Linear, "forward", lambda *given: right(*given) * float("nan"))
    with pytest.raises(WrongLayer, match="nan"):
        check_layers(VAE(1, 5), torch.float32)
