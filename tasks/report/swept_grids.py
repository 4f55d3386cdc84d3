"""The models of papers that sweep the number of latents, and how ours compare with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from tasks.report.comparable import (
    COMPARABLE_SOURCES,
    ENOUGH_OF_GRID,
    PAPERS_STEPS,
    other_settings,
)
from tasks.report.frames import CELL
from tasks.report.questions import GridKind
from tasks.study.spec import Study
from tasks.words import data_name, plural


@dataclass(frozen=True)
class SweptGrid:
    """A method at every strength and number of latents, with so many seeds."""

    data: tuple[str, ...]
    method: str
    strengths: tuple[float, ...]
    latents: tuple[int, ...]
    seeds: int
    steps_from: str = "the paper"  # where the number of steps is from

    @property
    def models(self) -> int:
        return len(self.data) * len(self.strengths) * len(self.latents) * self.seeds

    def members(self, models: pd.DataFrame) -> pd.DataFrame:
        """Of a study's models those of this grid; the user's own pictures are never among them."""
        return models[
            models["data"].isin(self.data)
            & (objectives(models) == self.method)
            & models["strength"].isin(self.strengths)
            & models["latents"].isin(self.latents)
            & (models["source"] != "user")
        ]

    def reasons(self, study: Study, models: pd.DataFrame) -> Iterator[tuple[GridKind, str]]:
        """Why numbers over these models of ours are not comparable with the paper's."""
        look_alikes = models.loc[~models["source"].isin(COMPARABLE_SOURCES), "data"]
        if len(look_alikes):
            names = ", ".join(data_name(name) for name in look_alikes.unique())
            yield "look-alike data", f"the pictures of {names} are look-alikes"
        architectures = study.values_of("architecture")
        if architectures != ("paper",):
            found = " and ".join(map(str, architectures))
            yield "other architecture", f"architecture “{found}”, not “paper”"
        steps = study.training.steps
        if steps < PAPERS_STEPS:
            yield "fewer steps", f"{plural(steps, 'step')}, {self.steps_from} {PAPERS_STEPS:,}"
        if others := other_settings(study):
            yield "other settings", others
        sizes = self.members(models).drop_duplicates([*CELL, "seed"]).groupby(CELL).size()
        count = int(sizes.clip(upper=self.seeds).sum())
        cells = self.models // self.seeds
        if len(sizes) < cells or count < ENOUGH_OF_GRID * self.models:
            yield "partial grid", f"{count:,} of {plural(self.models, 'model')} of the paper"


def objectives(models: pd.DataFrame) -> pd.Series[str]:
    """The methods of models without their number of latents, which a sweep puts into the name."""
    names = [
        str(method).removesuffix(f"-latents_{latents}")
        for method, latents in zip(models["method"], models["latents"], strict=True)
    ]
    return pd.Series(names, index=models.index, dtype=object)


def sweeps_latents(models: pd.DataFrame) -> bool:
    """Whether any data set and method has models of several numbers of latents."""
    if models.empty:
        return False
    by = [models["data"], models["source"], objectives(models)]
    return bool((models["latents"].groupby(by).nunique() > 1).any())


# Holtz et al. 2022, section 4. The paper gives no number of steps: that of our preset.
HOLTZ = SweptGrid(
    ("dsprites",), "beta_vae", (1, 2, 4, 8, 16), (2, 4, 8, 16, 32), 25, "the preset holtz-2022"
)
# Carbonneau et al. 2022, section 5.1
CARBONNEAU = SweptGrid(
    ("cars3d", "smallnorb"),
    "beta_vae",
    (0.001, 0.01, 0.1, 1, 10, 100),
    (2, 4, 8, 16, 32, 64),
    1,
)
