"""What a study set out to do, as far as the page tells it, from the content of study.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PAPERS_STEPS = 300_000  # Locatello et al. 2019, Table 4a
COMPARABLE_STEPS = 100_000  # below, models are far from what the papers trained


@dataclass(frozen=True)
class Plan:
    """The grid and the settings; whatever study.json lacks is empty."""

    name: str
    about: str
    data: tuple[str, ...]
    methods: dict[str, tuple[float, ...]]
    seeds: tuple[int, ...]
    architecture: str
    latents: int | None
    probe: int | None
    training: dict[str, Any]
    metrics: tuple[str, ...]
    kl_threshold: float | None

    @property
    def models(self) -> int:
        strengths = sum(len(swept) for swept in self.methods.values())
        return len(self.data) * strengths * len(self.seeds)

    @property
    def steps(self) -> int | None:
        return self.training.get("steps")

    @property
    def comparable(self) -> bool:
        """Whether numbers may honestly stand beside the papers'."""
        return self.steps is not None and self.steps >= COMPARABLE_STEPS


def plan_of(study: Mapping[str, Any]) -> Plan:
    seeds = study.get("seeds") or ()
    udr = study.get("udr") or {}
    return Plan(
        name=str(study.get("name") or "unnamed"),
        about=str(study.get("about") or ""),
        data=tuple(
            one if isinstance(one, str) else str(one["name"]) for one in study.get("data") or ()
        ),
        methods={
            method: tuple(float(strength) for strength in swept)
            for method, swept in (study.get("methods") or {}).items()
        },
        seeds=tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
        architecture=str(study.get("architecture") or ""),
        latents=study.get("latents"),
        probe=study.get("probe"),
        training=dict(study.get("training") or {}),
        metrics=tuple((study.get("metrics") or {}).get("names") or ()),
        kl_threshold=udr.get("kl_threshold"),
    )
