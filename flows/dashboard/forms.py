"""What people fill in on the dashboard. A form is data only; the server says where it may reach."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

import data
import models
from flows.commands.rank import Ranking
from flows.dashboard.limits import Served
from infra.errors import WrongInput, one_of
from metrics import METRICS, SIMILARITIES
from tasks.study.reading import preset_names, read_study
from tasks.study.spec import Study


def _known(names: Any) -> Any:
    """The dashboard offers these names, and its API refuses others."""
    return Field(json_schema_extra={"enum": list(names)})


Preset = Annotated[str, _known(preset_names())]
DataSet = Annotated[str, _known(data.DATA_SETS)]
Method = Annotated[str, _known(models.METHODS)]
Metric = Annotated[str, _known(METRICS)]
Ended = Annotated[str, _known(("failed", "diverged"))]
Pool = Annotated[str, _known(("cell", "method", "data"))]
Similarity = Annotated[str, _known(SIMILARITIES)]
Line = Annotated[str, Field(max_length=200)]
Count = Annotated[int, Field(ge=0)]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Strengths(Form):
    """A method and the strengths at which it is trained."""

    method: Method = "beta_vae"
    strengths: list[Annotated[float, Field(ge=0)]] = [1.0, 4.0]


class OwnData(Form):
    """Your own pictures: a folder of them, or an array with factors; below --allow-data."""

    name: Line = ""
    folder: Line = Field("", description="of pictures")
    images: Line = Field("", description="or a file that holds them all, .npz say")
    factors: Line = Field("", description="a table of factors beside images")


class StudyForm(Form):
    """A preset, and what is to be different from it."""

    preset: Preset = Field("smoke", description="the study to begin with")
    store: Line = Field("", description="name of the folder of results; empty: the preset's name")
    data: list[DataSet] = Field([], title="Data sets", description="none: the preset's")
    methods: list[Strengths] = Field([], description="with their strengths; none: the preset's")
    seeds: Count = Field(0, description="models per cell; 0: as in the preset")
    training_steps: Count = Field(0, description="of each model; 0: as in the preset")
    metrics: list[Metric] = Field([], description="scores with labels; none: the preset's")
    own_data: list[OwnData] = Field([], description="your own pictures, in place of or beside them")
    changes: list[Line] = Field(
        [], description="of anything else in the spec: probe=1000, training.batch_size=16"
    )
    workers: Count = Field(0, description="models at once; 0: as many as the server allows")
    retry: list[Ended] = Field([], description="try models again that ended so")

    @property
    def folder(self) -> str:
        """The name of the folder of results."""
        return self.store or self.preset

    def study(self, served: Served) -> Study:
        """The study that is asked for; raise if it is none, or reaches where it may not."""
        if self.preset not in preset_names():  # read_study would take the name of a file, too
            raise WrongInput("preset", self.preset, one_of(preset_names(), self.preset))
        for name in set(self.retry) - {"failed", "diverged"}:
            raise WrongInput("retry", name, one_of(("failed", "diverged"), name))
        changed: dict[str, Any] = {
            "seeds": self.seeds,
            "training.steps": self.training_steps,
            "metrics.names": self.metrics,
            "methods": {one.method: one.strengths for one in self.methods},
            "data": [*self.data, *(_own(one, served) for one in self.own_data)],
        }
        overrides = [f"{key}={json.dumps(value)}" for key, value in changed.items() if value]
        return served.with_data_allowed(read_study(self.preset, [*overrides, *self.changes]))


def _own(one: OwnData, served: Served) -> dict[str, str]:
    places = {
        field: served.data_place(f"own_data, {field}", given)
        for field in ("folder", "images", "factors")
        if (given := getattr(one, field))
    }
    if not places:
        raise WrongInput("own_data", "neither folder nor images", "one of them")
    return {**places, **({"name": one.name} if one.name else {})}


class RankForm(Form):
    """Which strength, which model? Without labels; also while the study runs."""

    store: Line = Field(description="name of the folder of results")
    pool: Pool = Field("method", description="a model is compared with those of the same")
    similarity: Similarity = Field("lasso", description="of two models' latents")
    p: Count = Field(0, description="comparisons per model; 0: all")
    data: Line = Field("", description="one data set of the study; empty: all")
    top: Annotated[int, Field(ge=1, le=1000)] = Field(20, description="lines of the table")

    def asked(self) -> Ranking:
        """What is asked; the similarity and number of comparisons are those of the form."""
        return Ranking(
            self.pool, self.similarity, self.p, self.data or None, self.top, plot=None, json=False
        )


class ReportForm(Form):
    """The report of a study is written anew if its tables have changed."""

    store: Line = Field(description="name of the folder of results")
