"""Whether each layer of a network computes what it should on this machine, forward and backward.

torch and oneDNN have had layers that were wrong on some processors, above all in bfloat16. Each
kind of layer that the network has, with the activation after it and as the training runs it
(models/fast.py or torch's own), is compared with torch's in float64, at the network's own shapes
with a batch of 2.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor, nn

from models.architecture import SIDE
from models.fast import Layers, with_fast
from models.network import Network

BATCH = 2
# Of the largest number of a result or gradient. Right layers differ by up to 4e-6 and 5e-3, the
# latter because bfloat16 has 8 bits.
TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 2e-2}
KINDS = (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)
ACTIVATIONS = (nn.ReLU, nn.LeakyReLU)


class WrongLayer(ArithmeticError):
    """A layer computes other numbers than it should on this machine."""


def check_layers(network: Network, dtype: torch.dtype) -> None:
    """Raise if a layer is wrong in this precision."""
    tolerance = TOLERANCES[dtype]
    for layers, shape in _kinds(network):
        for name, difference in _differences(layers, shape, dtype).items():
            if not difference <= tolerance:  # nan is not
                raise WrongLayer(
                    f"{name} of {layers[0]} on {' x '.join(map(str, shape))} differs by "
                    f"{difference:.1g} of its size from float64 in {dtype}, more than "
                    f"{tolerance:g}: torch {torch.__version__} computes it wrongly on this machine"
                )


def _kinds(network: Network) -> Iterator[tuple[nn.Sequential, tuple[int, ...]]]:
    """One layer of each kind with the activation after it, and the shape of its input."""
    if not any(isinstance(part, KINDS) for part in network.modules()):
        return
    plain = with_fast(copy.deepcopy(network), False)
    chains = {
        id(layer): (chain, place)
        for chain in network.modules()
        if isinstance(chain, Layers)
        for place, layer in enumerate(chain)
    }
    shapes: dict[nn.Module, tuple[int, ...]] = {}
    parts = plain.named_modules()
    names: dict[nn.Module, str] = {part: name for name, part in parts if isinstance(part, KINDS)}

    def note(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        shapes[layer] = tuple(inputs[0].shape)

    for part in names:
        part.register_forward_pre_hook(note)
    device = network.device
    with torch.inference_mode():
        plain.code(torch.zeros(BATCH, network.channels, SIDE, SIDE, device=device))
        plain.pictures(torch.zeros(BATCH, network.latents, device=device))
    seen = set()
    for copied, shape in shapes.items():
        layer = network.get_submodule(names[copied])
        chain, place = chains.get(id(layer), (None, 0))
        layers = nn.Sequential(layer) if chain is None else _with_activation(chain, place)
        if (kind := f"{layers} {shape}") not in seen:
            seen.add(kind)
            yield layers, shape


def _with_activation(chain: Layers, place: int) -> nn.Sequential:
    end = place + 1
    while end < len(chain) and isinstance(chain[end], ACTIVATIONS):
        end += 1
    layers = cast(nn.Sequential, chain[place:end])
    return with_fast(layers, chain.fast)


def _differences(layers: Any, shape: tuple[int, ...], dtype: torch.dtype) -> dict[str, float]:
    """By result and gradient, the largest difference from float64 as a part of the largest number.

    The derivative of an activation is taken from our own results: those next to zero may have the
    other sign in float64.
    """
    draws = torch.Generator().manual_seed(0)
    layer: Any = copy.deepcopy(layers)[0]
    values = _drawn(shape, dtype, draws).requires_grad_()
    weights = [_drawn(part.shape, dtype, draws) for part in layer.parameters()]
    ours: Any = copy.deepcopy(layers)
    _set(ours[0], weights)
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        result = ours(values)
    slope = _drawn(result.shape, dtype, draws)
    result.backward(slope.to(result.dtype))
    exact: Any = layer.double()
    _set(exact, weights)
    exact_values = values.detach().double().requires_grad_()
    torchs_own = next(kind for kind in KINDS if isinstance(layer, kind))
    before: Any = torchs_own.forward(exact, exact_values)
    expected, derivative = before, torch.ones_like(before)
    for activation in layers[1:]:
        expected = activation(before)
        low = getattr(activation, "negative_slope", 0.0)
        derivative = torch.where(result > 0, 1.0, low).double()
    before.backward(slope.double() * derivative)
    pairs = {
        "the result": (result, expected),
        "the gradient by the input": (values.grad, exact_values.grad),
    }
    for (name, part), reference in zip(ours[0].named_parameters(), exact.parameters(), strict=True):
        pairs[f"the gradient by the {name}"] = (part.grad, reference.grad)
    return {
        name: float(((mine - reference).abs().max() / reference.abs().max()).detach())
        for name, (mine, reference) in pairs.items()
    }


def _drawn(shape: tuple[int, ...], dtype: torch.dtype, draws: torch.Generator) -> Tensor:
    """Random numbers that the precision holds without rounding, as float32."""
    return torch.randn(shape, generator=draws).to(dtype).float()


def _set(layer: nn.Module, weights: list[Tensor]) -> None:
    with torch.no_grad():
        for part, values in zip(layer.parameters(), weights, strict=True):
            part.copy_(values)
            part.grad = None
