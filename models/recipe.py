"""How a model is optimised: all that changes its numbers, except the network and the objective.

A new hyperparameter is a line here: the spec, a model's identity and the training all read it.
Imports no torch, as the spec does not either.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, lt=2**31, strict=True)]  # a column of int32 holds it
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]

CHUNK = 20  # optimiser steps between two moments at which anything else can happen


class Recipe(BaseModel):
    """The defaults are Table 4 of Locatello et al. 2019."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: Count = 300_000
    batch_size: Annotated[int, Field(ge=2, le=65_536, strict=True)] = 64
    learning_rate: Rate = 1e-4
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    epsilon: Rate = 1e-8
    precision: Literal["float32", "bfloat16"] = "float32"
