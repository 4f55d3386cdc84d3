"""Training of one model: a Lightning module whose one step is many optimiser steps.

- Lightning's Trainer chooses the device, moves the module there and calls `training_step` in a
  loop. It does nothing else: deterministic algorithms on a CPU, optimisers, the curve of losses and
  checkpoints are the module's.
- The Trainer sees chunks of optimiser steps (models.recipe.CHUNK), so that its cost per step is
  negligible.
- Batches and noise are functions of the step number, drawn on the CPU for every device: a model
  that resumes from a checkpoint sees the same ones as without an interruption.
"""

from __future__ import annotations

import io
import logging
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from models.adam import Adam, Optimiser
from models.architecture import VAE, initialise
from models.fast import with_fast
from models.lightning import LightningModule, Trainer
from models.network import Network
from models.objective import Code, Objective, gaussian_kl
from models.recipe import CHUNK, Recipe

AnyNetwork = TypeVar("AnyNetwork", bound=Network)
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class CurvePoint(NamedTuple):
    step: int
    loss: float
    reconstruction: float | None
    kl: float | None
    regulariser: float


class Losses(NamedTuple):
    """Of one step, still on the device; none where the method has no such term."""

    loss: Tensor
    reconstruction: Tensor | None = None
    kl: Tensor | None = None
    regulariser: Tensor | None = None  # none: the loss without the reconstruction


class OtherInstructions(Exception):
    """A checkpoint was made with another instruction set, which rounds differently."""

    def __init__(self, step: int, made_with: str) -> None:
        super().__init__(step, made_with)
        self.step, self.made_with = step, made_with


class Diverged(ArithmeticError):
    """A loss that is not finite ends the model."""


@dataclass(frozen=True)
class Feed:
    """What a training reads: the pictures of each batch, by its number, and the generator of each
    step's noise. `pictures` gives all that a method may learn from, in blocks, each time the same.
    """

    batch: Callable[[int], Tensor]
    noise: Callable[[int], torch.Generator]
    pictures: Callable[[], Iterator[Tensor]] = lambda: iter(())


class Training(LightningModule):
    """One model, trained from the first step to the last.

    A subclass has `network`, which is what remains of it, says what one step is, and which modules
    and optimisers a checkpoint holds.
    """

    network: Network

    def __init__(
        self,
        recipe: Recipe,
        feed: Feed,
        after_chunk: Callable[[Any], None] = lambda training: None,
        log_every: int = 1000,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.recipe, self.batch, self.noise = recipe, feed.batch, feed.noise
        self.after_chunk = after_chunk
        self.log_every = log_every
        self.curve: list[CurvePoint] = []
        self.done = 0  # steps
        self.steps = recipe.steps
        self.seconds = 0.0  # that earlier attempts took; the caller measures them
        self.instructions: str | None = None  # the set of all steps, where it is known

    def initialise(self, generator: torch.Generator) -> None:
        raise NotImplementedError

    def optimise(self, step: int) -> Losses:
        """One step."""
        raise NotImplementedError

    def parts(self) -> dict[str, nn.Module | Optimiser | None]:
        """The modules and optimisers, by their names in a checkpoint."""
        raise NotImplementedError

    def run(self, on_gpu: bool = False) -> None:
        """Train to the end."""
        fit(self, on_gpu)

    def configure_optimizers(self) -> None:
        """None: the module calls its own optimisers, which exist longer than the Trainer."""

    def on_train_start(self) -> None:
        """Move the state of optimisers from a checkpoint to the device of the weights."""
        for part in self.parts().values():
            if part and not isinstance(part, nn.Module):
                part.load_state_dict(part.state_dict())

    def train_dataloader(self) -> range:
        """The first step of every chunk that is not done."""
        return range(self.done, self.steps, CHUNK)

    def training_step(self, first: int, index: int) -> None:
        steps = range(first, min(first + CHUNK, self.steps))
        losses = [self.optimise(step) for step in steps]
        for step, point in zip(steps, losses, strict=True):
            self._record(step, point)
        self.done = steps.stop
        self.after_chunk(self)

    def _record(self, step: int, losses: Losses) -> None:
        loss, reconstruction, kl, regulariser = (
            None if value is None else float(value) for value in losses
        )
        assert loss is not None
        if regulariser is None:
            regulariser = loss - (reconstruction or 0.0)
        terms = {"reconstruction": reconstruction, "kl": kl, "regulariser": regulariser}
        if not math.isfinite(loss):
            known = {name: value for name, value in terms.items() if value is not None}
            term = next((n for n, value in known.items() if not math.isfinite(value)), "loss")
            raise Diverged(f"{term} was {known.get(term, loss)} at step {step + 1}")
        number = step + 1
        if number == 1 or number % self.log_every == 0 or number == self.steps:
            self.curve.append(CurvePoint(number, loss, reconstruction, kl, regulariser))

    # checkpoints ---------------------------------------------------------------------------

    def checkpoint(self) -> bytes:
        """All that the remaining steps depend on; streams follow from the step number."""
        states = {name: part and part.state_dict() for name, part in self.parts().items()}
        curve = [tuple(point) for point in self.curve]
        file = io.BytesIO()
        facts = {"done": self.done, "seconds": self.seconds, "instructions": self.instructions}
        torch.save({**facts, **states, "curve": curve}, file)
        return file.getvalue()

    def restore(self, checkpoint: bytes) -> None:
        state: dict[str, Any] = torch.load(
            io.BytesIO(checkpoint), map_location="cpu", weights_only=True
        )
        made_with: str | None = state.get("instructions")  # older checkpoints do not say
        if made_with not in (None, self.instructions):
            raise OtherInstructions(state["done"], made_with)
        for name, part in self.parts().items():
            if part:
                part.load_state_dict(state[name])
        self.curve = [CurvePoint(*point) for point in state["curve"]]
        self.done, self.seconds = state["done"], state["seconds"]
        self.instructions = made_with


class TrainingModule(Training):
    """Training of a VAE by its objective."""

    def __init__(
        self,
        vae: VAE,
        objective: Objective,
        recipe: Recipe,
        feed: Feed,
        after_chunk: Callable[[Any], None] = lambda training: None,
        log_every: int = 1000,
    ) -> None:
        super().__init__(recipe, feed, after_chunk, log_every)
        self.vae = channels_last(vae)
        self.objective = with_fast(objective, vae.fast)
        self.precision = PRECISIONS[recipe.precision]
        self.vae_optimiser = adam(vae.parameters(), recipe)
        self.adversary_optimiser = objective.adversary_optimiser()

    @property
    def network(self) -> VAE:  # type: ignore[override]
        return self.vae

    def initialise(self, generator: torch.Generator) -> None:
        initialise(self.vae, generator)
        initialise(self.objective, generator)

    def parts(self) -> dict[str, nn.Module | Optimiser | None]:
        names = ("vae", "objective", "vae_optimiser", "adversary_optimiser")
        return {name: getattr(self, name) for name in names}

    def optimise(self, step: int) -> Losses:
        """One optimiser step of the VAE, and of the objective's own network if it has one."""
        images, generator = self.batch(step).to(self.device), self.noise(step)
        with self._networks_precision():
            code = encode(self.vae, images, generator)
            decoded = self.vae.decoder(code.sample)
        reconstruction = self.vae.reconstruction(decoded.float(), images)
        penalty = self.objective.penalty(code, step, generator)
        loss = reconstruction + penalty.regulariser
        self.vae_optimiser.zero_grad()
        loss.backward(
            inputs=list(self.vae.parameters()), retain_graph=penalty.adversary is not None
        )
        if penalty.adversary is not None and self.adversary_optimiser is not None:
            self.adversary_optimiser.zero_grad()
            penalty.adversary.backward(inputs=list(self.objective.parameters()))
            self.adversary_optimiser.step()
        self.vae_optimiser.step()
        return Losses(loss.detach(), reconstruction.detach(), code.kl.detach().sum())

    def _networks_precision(self) -> torch.autocast:
        """In bfloat16 only the VAE's layers round: not loss, objective, sampling or optimiser."""
        lower = self.precision != torch.float32
        return torch.autocast(self.device.type, self.precision if lower else None, enabled=lower)


def adam(parameters: Iterable[nn.Parameter], recipe: Recipe) -> Adam:
    return Adam(
        parameters,
        lr=recipe.learning_rate,
        betas=(recipe.beta1, recipe.beta2),
        eps=recipe.epsilon,
    )


def channels_last(network: AnyNetwork) -> AnyNetwork:
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def encode(vae: VAE, images: Tensor, generator: torch.Generator) -> Code:
    """Posterior of a batch and one sample of it."""
    mean, logvar = (part.float() for part in vae.encoder(images))
    noise = torch.randn(mean.shape, generator=generator).to(mean.device)
    sample = mean + noise * (0.5 * logvar).exp()
    return Code(mean, logvar, sample, gaussian_kl(mean, logvar).mean(0))


def fit(module: Training, on_gpu: bool = False) -> None:
    """Run the remaining steps of the training."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    with warnings.catch_warnings(), _deterministic():
        warnings.simplefilter("ignore")
        trainer = Trainer(
            accelerator="gpu" if on_gpu else "cpu",
            devices=1,
            max_epochs=1,
            barebones=True,
            deterministic=True if on_gpu else None,  # which also sets what only a GPU has
        )
        trainer.fit(module)


@contextmanager
def _deterministic() -> Iterator[None]:
    """As the Trainer's deterministic=True, which would import torch's compiler and stay on."""
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("error")
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
