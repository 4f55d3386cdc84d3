"""Two methods, a metric, a similarity, a data set and a question, as CONTRIBUTING.md adds them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

METHOD = '''
"""TinyVAE: the KL to the prior, twice the strength times."""

from models.objective import Objective, Penalty


class TinyVAE(Objective):
    def penalty(self, code, step, generator):
        return Penalty(2 * self.strength * code.kl.sum())


OBJECTIVE = TinyVAE
'''

NO_VAE = '''
"""Random directions of pixels: no posterior, no strength and no steps."""

import torch

from models.network import Network
from models.training import Training


class Directions(Network):
    def __init__(self, channels, latents, architecture="", fast=True):
        super().__init__(channels, latents)
        self.register_buffer("directions", torch.zeros(latents, channels * 64 * 64))

    def code(self, images):
        return images.flatten(1) @ self.directions.T, None

    def pictures(self, codes):
        return torch.sigmoid(codes @ self.directions).reshape(-1, self.channels, 64, 64)


class DirectionsTraining(Training):
    def __init__(self, network, strength, recipe, feed, after_chunk=None, log_every=1000):
        super().__init__(recipe, feed)
        self.network = network

    def initialise(self, generator):
        self.network.directions.normal_(generator=generator)

    def parts(self):
        return {"network": self.network}

    def run(self, on_gpu=False):
        pass


NETWORK, TRAINING = Directions, DirectionsTraining
'''

METRIC = '''
"""The largest correlation of a latent with each factor, on average."""

import numpy as np

from metrics.base.inputs import Score

NEEDS = frozenset({"table"})


def evaluate(inputs, rng):
    both = np.corrcoef(inputs.codes, inputs.factors, rowvar=False)
    latents = inputs.codes.shape[1]
    largest = np.nan_to_num(np.abs(both[:latents, latents:])).max(axis=0)
    return [Score("score", float(largest.mean()))]
'''

SIMILARITY = '''
"""Similarity of latents: the absolute value of Pearson's correlation."""

import numpy as np

from metrics.udr.moments import standardise

FOLDS = 1
PRODUCT = np.float32
standard = standardise


def similarities(moments):
    return np.abs(moments.products[0], dtype=np.float64)
'''

DATA_SET = '''
"""White squares on black."""

from dataclasses import dataclass

import numpy as np

from data.base import pixels
from data.base.protocol import Finite, Grid

DESCRIPTION = Grid("squares", "redrawn", 1, ("side", "x", "y"), (3, 4, 4), pictures=48)
SOURCES = ("redrawn",)
FILES = {"redrawn": "squares-1.pixels"}
SHAPE = (48, 1, 64, 64)


@dataclass(frozen=True, eq=False)
class Squares(Finite, Grid):
    array: np.ndarray

    def places(self, factors, stream):
        return self.order(factors)

    def show(self, places):
        return self.array[places].astype(np.float32) / 255


def draw():
    for side, x, y in np.ndindex(3, 4, 4):
        picture = np.zeros((1, 1, 64, 64), np.uint8)
        picture[..., 16 * y : 16 * y + 4 * side + 4, 16 * x : 16 * x + 4 * side + 4] = 255
        yield picture


def load(cache, source="redrawn", progress=None):
    array = pixels.prepared(cache / FILES["redrawn"], SHAPE, draw, progress)
    return Squares(**vars(DESCRIPTION), array=array)
'''

QUESTION = '''
"""How many models are there?"""

from tasks.report.questions import Answer, Question, Sentence, missing

QUESTION = Question("How many models are there?", menu="How many")


def answer(results):
    if results.models.empty:
        return missing("The store has no models.")
    return Answer((Sentence(f"The store has {len(results.models)} models."),))
'''


@dataclass(frozen=True)
class Addition:
    """One file, and one line at the end of a table."""

    file: str
    text: str
    table: str  # its file and its name
    line: str

    def make(self, tree: Path) -> None:
        target = tree / self.file
        assert not target.exists()
        target.write_text(self.text.lstrip(), encoding="utf-8")
        file, name = self.table.split(":")
        before, start, after = (tree / file).read_text(encoding="utf-8").partition(f"\n{name}")
        end = min(after.index(bracket) for bracket in ("\n}", "\n)", "\n]") if bracket in after)
        table = f"{before}{start}{after[:end]}\n    {self.line}{after[end:]}"
        (tree / file).write_text(table, encoding="utf-8")


ADDITIONS = [
    Addition(
        "models/tiny_vae.py",
        METHOD,
        "models/__init__.py:METHODS",
        '"tiny_vae": Method("TinyVAE", "τ", "kumar-2018", strengths=(1, 2)),',
    ),
    Addition(
        "models/directions.py",
        NO_VAE,
        "models/__init__.py:METHODS",
        '"directions": Method("Directions", "", "", (), has_posterior=False, has_steps=False),',
    ),
    Addition(
        "metrics/correlation.py",
        METRIC,
        "metrics/__init__.py:METRICS",
        '"correlation": Metric("Largest correlation", "do-2020", better="more"),',
    ),
    Addition(
        "metrics/udr/pearson.py",
        SIMILARITY,
        "metrics/__init__.py:SIMILARITIES",
        '"pearson": Similarity("Pearson", "li-2020"),',
    ),
    Addition(
        "data/squares.py",
        DATA_SET,
        "data/__init__.py:DATA_SETS",
        '"squares": KnownDataSet("Squares", ("reed-2015",)),',
    ),
    Addition(
        "tasks/report/questions/how_many.py",
        QUESTION,
        "tasks/report/questions/__init__.py:QUESTIONS",
        '"how_many",',
    ),
]
