"""Adam, computed by torch's fused kernel.

`torch.optim.Adam` gives the same numbers. But any `torch.optim.Optimizer` imports torch's compiler
at its first use, which takes 70 MB of every worker's memory and seconds of its start; no training
here compiles anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.optim.adam import adam


class Optimiser(Protocol):
    """What a training calls; torch's own optimisers are such, too."""

    def zero_grad(self) -> None: ...
    def step(self) -> Any: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any], /) -> None: ...


class Adam:
    """Its state has the form of that of `torch.optim.Adam`, so that older checkpoints are read."""

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        self.parameters = list(parameters)
        self.lr, self.betas, self.eps = lr, betas, eps
        self.state: dict[int, dict[str, Tensor]] = {}  # by a parameter's number

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change all parameters that have a gradient."""
        numbers = [i for i, part in enumerate(self.parameters) if part.grad is not None]
        for number in numbers:
            if number not in self.state:
                self.state[number] = _zeros(self.parameters[number])
        states = [self.state[number] for number in numbers]
        adam(
            [self.parameters[number] for number in numbers],
            [grad for part in self.parameters if (grad := part.grad) is not None],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            fused=True,
            amsgrad=False,
            beta1=self.betas[0],
            beta2=self.betas[1],
            lr=self.lr,
            weight_decay=0.0,
            eps=self.eps,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        settings = {"lr": self.lr, "betas": self.betas, "eps": self.eps}
        group = {**settings, "fused": True, "params": list(range(len(self.parameters)))}
        states = {number: dict(state) for number, state in self.state.items()}
        return {"state": states, "param_groups": [group]}

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Take the state, not the settings; it goes to where the parameters are now."""
        (group,) = state_dict["param_groups"]
        if len(group["params"]) != len(self.parameters):
            counts = f"{len(group['params'])} parameters, not of {len(self.parameters)}"
            raise ValueError(f"the optimiser's state is of {counts}")
        self.state = {
            number: {name: value.to(self.parameters[number].device) for name, value in of.items()}
            for number, of in state_dict["state"].items()
        }


def _zeros(parameter: Tensor) -> dict[str, Tensor]:
    return {
        "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
        "exp_avg": torch.zeros_like(parameter, memory_format=torch.preserve_format),
        "exp_avg_sq": torch.zeros_like(parameter, memory_format=torch.preserve_format),
    }
