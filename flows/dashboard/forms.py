"""The forms of the dashboard. A form is data only; the server's limits say what it may use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

import data
import models
from flows.dashboard.limits import Limits
from flows.ranking import RankRequest
from infra.errors import WrongInput, one_of
from metrics import METRICS, SIMILARITIES
from tasks.best import ADVISED_POOLS
from tasks.study.model import CAN_RETRY
from tasks.study.reading import preset_names, read_study
from tasks.study.settings import file_name
from tasks.study.spec import Study


def _known(names: Any) -> Any:
    """The dashboard offers these names; its API refuses others."""
    return Field(json_schema_extra={"enum": list(names)})


Preset = Annotated[str, _known(preset_names())]
DataSetName = Annotated[str, _known(data.DATA_SETS)]
MethodName = Annotated[str, _known(models.METHODS)]
MetricName = Annotated[str, _known(METRICS)]
RetryStatus = Annotated[str, _known(CAN_RETRY)]
Pool = Annotated[str, _known(("cell", "method", "data"))]
Similarity = Annotated[str, _known(SIMILARITIES)]
Line = Annotated[str, Field(max_length=200)]
Count = Annotated[int, Field(ge=0)]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Strengths(Form):
    """A method and the strengths at which it is trained."""

    method: MethodName = "beta_vae"
    strengths: list[Annotated[float, Field(ge=0)]] = [1.0, 4.0]


class OwnData(Form):
    """Your own pictures, in the server's --allow-data DIR: a folder, or an array with factors.

    Paths are absolute, or begin in DIR; '.' is DIR itself.
    """

    name: Line = ""
    folder: Line = Field("", description="of pictures")
    images: Line = Field("", description="or a file that holds them all, such as a .npz")
    factors: Line = Field("", description="a table of factors beside images")
    skip_broken: bool = Field(False, description="leave out pictures that cannot be read")


class StudyForm(Form):
    """A preset, and the changes to it."""

    preset: Preset = Field("smoke", description="the study to begin with")
    store: Line = Field("", description="name of the study and its folder; empty: the preset's")
    data: list[DataSetName] = Field([], title="Data sets", description="none: the preset's")
    methods: list[Strengths] = Field([], description="with their strengths; none: the preset's")
    seeds: Count = Field(0, description="models per cell; 0: as in the preset")
    training_steps: Count = Field(0, description="of each model; 0: as in the preset")
    metrics: list[MetricName] = Field([], description="scores with labels; none: the preset's")
    own_data: list[OwnData] = Field([], description="your own pictures, in place of or beside them")
    changes: list[Line] = Field(
        [], description="of anything else in the spec: probe=1000, training.batch_size=16"
    )
    workers: Count = Field(0, description="models at once; 0: as many as the server allows")
    retry: list[RetryStatus] = Field([], description="train models again that have this status")

    @property
    def folder(self) -> str:
        """The name of the folder of results."""
        return self.store or self.preset

    def study(self, limits: Limits) -> Study:
        """The study of this form; raises if it is wrong, or uses more than the limits allow."""
        if self.preset not in preset_names():  # read_study also reads files
            raise WrongInput("preset", self.preset, one_of(preset_names(), self.preset))
        for name in set(self.retry) - set(CAN_RETRY):
            raise WrongInput("retry", name, one_of(CAN_RETRY, name))
        if self.store:
            file_name("store", self.store)
        changed: dict[str, Any] = {
            "name": self.store,
            "seeds": self.seeds,
            "training.steps": self.training_steps,
            "metrics.names": self.metrics,
            "methods": _methods(self.methods),
            "data": [*self.data, *(_own(row, limits) for row in self.own_data)],
        }
        overrides = [f"{key}={json.dumps(value)}" for key, value in changed.items() if value]
        return limits.check_data(read_study(self.preset, [*overrides, *self.changes]))


def _methods(rows: Sequence[Strengths]) -> dict[str, list[float]]:
    methods: dict[str, list[float]] = {}
    for row in rows:
        if row.method in methods:
            raise WrongInput("methods", f"{row.method} twice", "each method once")
        methods[row.method] = row.strengths
    return methods


def _own(row: OwnData, limits: Limits) -> dict[str, str | bool]:
    paths: dict[str, str | bool] = {
        field: limits.data_path(f"own_data, {field}", path)
        for field in ("folder", "images", "factors")
        if (path := getattr(row, field))
    }
    if not paths:
        raise WrongInput("own_data", "neither folder nor images", "one of them")
    more: dict[str, str | bool] = {"name": row.name, "skip_broken": row.skip_broken}
    return paths | {field: value for field, value in more.items() if value}


class RankForm(Form):
    """Which strength, which model? Without labels; also while the study runs."""

    store: Line = Field(description="name of the folder of results")
    pool: Pool = Field("method", description="a model is compared with those of the same")
    similarity: Similarity = Field("lasso", description="of two models' latents")
    p: Count = Field(0, description="comparisons per model; 0: all")
    data: Line = Field("", description="one data set of the study; empty: all")
    top: Annotated[int, Field(ge=1, le=1000)] = Field(20, description="lines of the table")

    def request(self) -> RankRequest:
        return RankRequest(
            pool=None if self.pool == ADVISED_POOLS[0] else self.pool,  # strengths by their own
            similarity=self.similarity,
            p=self.p,
            data=self.data or None,
            plot=None,
        )


class ReportForm(Form):
    """Write the report of a study again, if its tables have changed."""

    store: Line = Field(description="name of the folder of results")
