"""The objectives. models/<name>.py holds what is peculiar to one; adding one adds its line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch takes a second to import; names must not
    from models.objective import Objective

METHODS: tuple[str, ...] = (
    "beta_vae",
    "annealed_vae",
    "factor_vae",
    "dip_vae_i",
    "dip_vae_ii",
    "beta_tcvae",
)


def build_objective(method: str, strength: float, latents: int) -> Objective:
    """The objective of a method at one strength."""
    made: Objective = import_module(f"models.{method}").OBJECTIVE(strength, latents)
    return made
