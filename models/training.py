"""Training of one model: a Lightning module whose one step is many optimiser steps.

- Lightning's Trainer chooses the device, moves the module there, switches torch to deterministic
  algorithms and calls `training_step` in a loop. It does nothing else: optimisers, the curve of
  losses and checkpoints are the module's.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn import functional

from models.architecture import VAE, initialise
from models.fast import with_fast
from models.objective import Code, Objective, gaussian_kl
from models.recipe import CHUNK, Recipe

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class CurvePoint(NamedTuple):
    step: int
    loss: float
    reconstruction: float
    kl: float
    regulariser: float


class Diverged(ArithmeticError):
    """A loss that is not finite ends the model."""


class TrainingModule(pl.LightningModule):
    """One VAE and its objective, trained from the first step to the last."""

    def __init__(
        self,
        vae: VAE,
        objective: Objective,
        recipe: Recipe,
        batch: Callable[[int], Tensor],
        noise: Callable[[int], torch.Generator],
        after_chunk: Callable[[TrainingModule], None] = lambda module: None,
        log_every: int = 1000,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.vae: VAE = vae.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.objective = with_fast(objective, vae.fast)
        self.recipe, self.batch, self.noise = recipe, batch, noise
        self.after_chunk = after_chunk
        self.log_every = log_every
        self.precision = PRECISIONS[recipe.precision]
        self.curve: list[CurvePoint] = []
        self.done = 0  # steps
        self.seconds = 0.0  # that earlier attempts took; the caller measures them
        self.vae_optimiser = torch.optim.Adam(
            vae.parameters(),
            lr=recipe.learning_rate,
            betas=(recipe.beta1, recipe.beta2),
            eps=recipe.epsilon,
            fused=True,
        )
        self.adversary_optimiser = objective.adversary_optimiser()

    def initialise(self, generator: torch.Generator) -> None:
        initialise(self.vae, generator)
        initialise(self.objective, generator)

    def configure_optimizers(self) -> None:
        """None: the module calls its own optimisers, which exist longer than the Trainer."""

    def on_train_start(self) -> None:
        """Move the state of optimisers from a checkpoint to the device of the weights."""
        for optimiser in (self.vae_optimiser, self.adversary_optimiser):
            if optimiser:
                optimiser.load_state_dict(optimiser.state_dict())

    def train_dataloader(self) -> range:
        """The first step of every chunk that is not done."""
        return range(self.done, self.recipe.steps, CHUNK)

    def training_step(self, first: int, index: int) -> None:
        steps = range(first, min(first + CHUNK, self.recipe.steps))
        losses = [self.optimise(step) for step in steps]
        for step, point in zip(steps, losses, strict=True):
            self._record(step, point)
        self.done = steps.stop
        self.after_chunk(self)

    def optimise(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """One optimiser step; returns loss, reconstruction and KL, still on the device."""
        images, generator = self.batch(step).to(self.device), self.noise(step)
        with self._networks_precision():
            code = encode(self.vae, images, generator)
            logits = self.vae.decoder(code.sample)
        reconstruction = bernoulli_loss(logits.float(), images)
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
        return loss.detach(), reconstruction.detach(), code.kl.detach().sum()

    def _networks_precision(self) -> torch.autocast:
        """In bfloat16 only the VAE's layers round: not loss, objective, sampling or optimiser."""
        lower = self.precision != torch.float32
        return torch.autocast(self.device.type, self.precision if lower else None, enabled=lower)

    def _record(self, step: int, losses: tuple[Tensor, Tensor, Tensor]) -> None:
        loss, reconstruction, kl = (float(value) for value in losses)
        terms = {"reconstruction": reconstruction, "kl": kl, "regulariser": loss - reconstruction}
        if not math.isfinite(loss):
            term = next((name for name, value in terms.items() if not math.isfinite(value)), "loss")
            raise Diverged(f"{term} was {terms.get(term, loss)} at step {step + 1}")
        number = step + 1
        if number == 1 or number % self.log_every == 0 or number == self.recipe.steps:
            self.curve.append(CurvePoint(number, loss, **terms))

    # checkpoints ---------------------------------------------------------------------------

    def checkpoint(self) -> bytes:
        """All that the remaining steps depend on; streams follow from the step number."""
        file = io.BytesIO()
        torch.save(
            {
                "done": self.done,
                "seconds": self.seconds,
                "vae": self.vae.state_dict(),
                "objective": self.objective.state_dict(),
                "vae_optimiser": self.vae_optimiser.state_dict(),
                "adversary_optimiser": self.adversary_optimiser.state_dict()
                if self.adversary_optimiser
                else None,
                "curve": [tuple(point) for point in self.curve],
            },
            file,
        )
        return file.getvalue()

    def restore(self, checkpoint: bytes) -> None:
        state: dict[str, Any] = torch.load(
            io.BytesIO(checkpoint), map_location="cpu", weights_only=True
        )
        self.vae.load_state_dict(state["vae"])
        self.objective.load_state_dict(state["objective"])
        self.vae_optimiser.load_state_dict(state["vae_optimiser"])
        if self.adversary_optimiser:
            self.adversary_optimiser.load_state_dict(state["adversary_optimiser"])
        self.curve = [CurvePoint(*point) for point in state["curve"]]
        self.done, self.seconds = state["done"], state["seconds"]


def encode(vae: VAE, images: Tensor, generator: torch.Generator) -> Code:
    """Posterior of a batch and one sample of it."""
    mean, logvar = (part.float() for part in vae.encoder(images))
    noise = torch.randn(mean.shape, generator=generator).to(mean.device)
    sample = mean + noise * (0.5 * logvar).exp()
    return Code(mean, logvar, sample, gaussian_kl(mean, logvar).mean(0))


def bernoulli_loss(logits: Tensor, images: Tensor) -> Tensor:
    """Negative log-likelihood in nats per image, averaged over the batch."""
    total = functional.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    return total / len(images)


def fit(module: TrainingModule, on_gpu: bool = False) -> None:
    """Run the remaining steps of the training."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    with warnings.catch_warnings(), _deterministic():
        warnings.simplefilter("ignore")
        trainer = pl.Trainer(
            accelerator="gpu" if on_gpu else "cpu",
            devices=1,
            max_epochs=1,
            barebones=True,
            deterministic=True,
        )
        trainer.fit(module)


@contextmanager
def _deterministic() -> Iterator[None]:
    """Restores torch's switch afterwards: the Trainer's deterministic=True would leave it on."""
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)
