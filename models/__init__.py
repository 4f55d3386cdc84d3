"""The methods: adding one is a file, models/NAME.py, and one line here.

The file of a VAE's method holds its objective as OBJECTIVE; that of another method its network as
NETWORK, and how it learns as TRAINING.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch takes a second to import; the names of the methods must not
    from collections.abc import Callable
    from typing import Any

    from models.network import Network
    from models.objective import Objective
    from models.recipe import Recipe
    from models.training import Feed, Training


@dataclass(frozen=True)
class Method:
    """Facts about a method; `strengths` are those that its paper or the study of 2019 sweeps."""

    title: str
    symbol: str  # of its strength; "" without one, whose strength in tables is NO_STRENGTH
    paper: str  # a key of tasks.citations.PAPERS, or "" without a paper
    strengths: tuple[float, ...]
    in_2019: bool = True  # one of the six of Locatello et al. 2019
    has_posterior: bool = True  # a mean and a log-variance per latent; otherwise a code only
    has_steps: bool = True  # learns by optimiser steps; otherwise it is fitted at once
    architectures: tuple[str, ...] = ()  # those that it can have; none: all


NO_STRENGTH = 0.0  # of a method that has none
RESNETS = ("resnet", "resnet_small")  # architectures (models/resnet.py)

METHODS: dict[str, Method] = {
    "beta_vae": Method("β-VAE", "β", "higgins-2017", strengths=(1, 2, 4, 6, 8, 16)),
    "annealed_vae": Method("AnnealedVAE", "C", "burgess-2017", strengths=(5, 10, 25, 50, 75, 100)),
    "factor_vae": Method("FactorVAE", "γ", "kim-2018", strengths=(10, 20, 30, 40, 50, 100)),
    "dip_vae_i": Method("DIP-VAE-I", "λ", "kumar-2018", strengths=(1, 2, 5, 10, 20, 50)),
    "dip_vae_ii": Method("DIP-VAE-II", "λ", "kumar-2018", strengths=(1, 2, 5, 10, 20, 50)),
    "beta_tcvae": Method("β-TCVAE", "β", "chen-2018", strengths=(1, 2, 4, 6, 8, 10)),
    "pca": Method("PCA", "", "", (), in_2019=False, has_posterior=False, has_steps=False),
    "infogan": Method(
        "InfoGAN",
        "λ",
        "chen-2016",
        strengths=(6,),
        in_2019=False,
        has_posterior=False,
        architectures=RESNETS,
    ),
}
STUDY_2019 = tuple(name for name, method in METHODS.items() if method.in_2019)

# The hidden layers of the decoder (models/architecture.py), by their numbers of units.
DECODER_LAYERS = {"dense1": 256, "dense2": 1024, "deconv1": 4096, "deconv2": 8192, "deconv3": 32768}


def build_objective(method: str, strength: float, latents: int) -> Objective:
    """The objective of a method at one strength."""
    objective: Objective = import_module(f"models.{method}").OBJECTIVE(strength, latents)
    return objective


def build_network(
    method: str, channels: int, latents: int, architecture: str, fast: bool = True
) -> Network:
    """The network of a method, whose weights are zeros or not defined."""
    from models.architecture import VAE

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
    from models.training import TrainingModule

    kind: Callable[..., Training] = TrainingModule
    how: Any = strength
    if own := getattr(import_module(f"models.{method}"), "TRAINING", None):
        kind = own
    else:
        how = build_objective(method, strength, network.latents)
    return kind(network, how, recipe, feed, after_chunk, log_every)
