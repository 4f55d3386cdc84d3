"""The methods: adding one is a file, models/NAME.py, and one line here.

The file of a VAE's method holds its objective as OBJECTIVE; that of another method its network as
NETWORK, and how it learns as TRAINING.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch takes a second to import; the names of the methods must not
    from models.objective import Objective


@dataclass(frozen=True)
class Method:
    """Facts about a method; `strengths` are those that its paper or the study of 2019 sweeps."""

    title: str
    symbol: str  # of its strength; "" without one, whose strength in tables is NO_STRENGTH
    paper: str  # a key of tasks.citations.PAPERS, or "" without a paper
    strengths: tuple[float, ...]
    has_posterior: bool = True  # a mean and a log-variance per latent; otherwise a code only
    has_steps: bool = True  # learns by optimiser steps; otherwise it is fitted at once
    architectures: tuple[str, ...] = ()  # those that it can have; none: all
    step_cost: int = 1  # how many steps of β-VAE take as long as one, roughly; for progress


NO_STRENGTH = 0.0  # of a method that has none
RESNETS = ("resnet", "resnet_small")  # architectures (models/resnet.py)

METHODS: dict[str, Method] = {
    "beta_vae": Method("β-VAE", "β", "higgins-2017", strengths=(1, 2, 4, 6, 8, 16)),
    "annealed_vae": Method("AnnealedVAE", "C", "burgess-2017", strengths=(5, 10, 25, 50, 75, 100)),
    "factor_vae": Method(
        "FactorVAE", "γ", "kim-2018", strengths=(10, 20, 30, 40, 50, 100), step_cost=2
    ),
    "dip_vae_i": Method("DIP-VAE-I", "λ", "kumar-2018", strengths=(1, 2, 5, 10, 20, 50)),
    "dip_vae_ii": Method("DIP-VAE-II", "λ", "kumar-2018", strengths=(1, 2, 5, 10, 20, 50)),
    "beta_tcvae": Method("β-TCVAE", "β", "chen-2018", strengths=(1, 2, 4, 6, 8, 10)),
    "pca": Method("PCA", "", "", (), has_posterior=False, has_steps=False),
    "infogan": Method(
        "InfoGAN",
        "λ",
        "chen-2016",
        strengths=(6,),
        has_posterior=False,
        architectures=RESNETS,
        step_cost=13,
    ),
}
STUDY_2019 = (  # the methods of Locatello et al. 2019
    *("beta_vae", "annealed_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "beta_tcvae"),
)

# The hidden layers of the decoder (models/architecture.py), by their numbers of units.
DECODER_LAYERS = {"dense1": 256, "dense2": 1024, "deconv1": 4096, "deconv2": 8192, "deconv3": 32768}


def build_objective(method: str, strength: float, latents: int) -> Objective:
    """The objective of a method at one strength."""
    objective: Objective = import_module(f"models.{method}").OBJECTIVE(strength, latents)
    return objective
