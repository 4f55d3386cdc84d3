"""The network of a method, and how it learns: what its file, models/NAME.py, says.

A VAE's method has an OBJECTIVE there; another method has its own NETWORK and TRAINING.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from models import build_objective
from models.architecture import VAE
from models.network import Network
from models.recipe import Recipe
from models.training import Feed, Training, TrainingModule


def build_network(
    method: str, channels: int, latents: int, architecture: str, fast: bool = True
) -> Network:
    """The network of a method, whose weights are still those of torch's defaults."""
    kind = getattr(import_module(f"models.{method}"), "NETWORK", VAE)
    network: Network = kind(channels, latents, architecture, fast)
    return network


def build_training(
    method: str,
    strength: float,
    network: Network,
    recipe: Recipe,
    feed: Feed,
    after_chunk: Callable[[Any], None] = lambda training: None,
    log_every: int = 1000,
) -> Training:
    """How a method's network learns at one strength."""
    own = getattr(import_module(f"models.{method}"), "TRAINING", None)
    if own:
        training: Training = own(network, strength, recipe, feed, after_chunk, log_every)
        return training
    assert isinstance(network, VAE)
    objective = build_objective(method, strength, network.latents)
    return TrainingModule(network, objective, recipe, feed, after_chunk, log_every)
