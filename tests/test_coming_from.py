"""The pages for people who come from elsewhere: their code runs, and the names in them exist."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from flows.cli import main
from metrics import METRICS, MODULES
from models import METHODS
from tasks.study.reading import parse_study, read_study
from tests.tree import ROOT

POINTS, LATENTS = 300, 4
SIZES = (3, 4)
THEIRS = {"dsprites", *["color_dsprites", "noisy_dsprites", "scream_dsprites"]}
THEIRS |= {"smallnorb", "cars3d", "shapes3d"}


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def code_of(name: str) -> dict[str, Any]:
    """What the Python of a page defines."""
    defined: dict[str, Any] = {}
    for text in re.findall(r"```python\n(.*?)```", page(name), re.S):
        exec(text, defined)
    return defined


class MadeUpData:
    """A data set as disentanglement_lib's `GroundTruthData`: two factors, each drawn as a pixel."""

    def sample(self, num: int, random_state: np.random.RandomState) -> tuple[Any, Any]:
        factors = np.stack([random_state.randint(size, size=num) for size in SIZES], axis=1)
        return factors, factors[:, None, :, None].astype(np.float32)


class Encoder:
    """A latent for each factor, and two that equal the prior; pictures come in batches."""

    def __init__(self, order: tuple[int, int]) -> None:
        self.order = order

    def __call__(self, pictures: NDArray[Any]) -> dict[str, NDArray[Any]]:
        assert len(pictures) <= 64
        mean = np.zeros((len(pictures), LATENTS))
        mean[:, self.order] = pictures[:, 0, :, 0]
        logvar = np.zeros((len(pictures), LATENTS))
        logvar[:, self.order] = -4.0
        return {"mean": mean, "logvar": logvar}


def test_codes_of_disentanglement_lib_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "codes.npz"
    code_of("from-disentanglement-lib")["export_codes"](Encoder((2, 0)), MadeUpData(), file, POINTS)
    assert np.load(file)["codes"].shape == (POINTS, LATENTS)
    assert main(["score", str(file), "--metrics", "mig,modularity", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    score = {row["metric"]: row["value"] for row in rows if row["part"] == "score"}
    assert score["mig"] == pytest.approx(1, abs=0.05)
    assert score["modularity"] == pytest.approx(0.5, abs=0.05), "and 0 for the unused latents"


def test_models_of_disentanglement_lib_are_ranked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, encoders = tmp_path / "models.npz", [Encoder((2, 0)), Encoder((0, 3)), Encoder((1, 2))]
    names = ["seed 0", "seed 1", "seed 2"]
    code_of("from-disentanglement-lib")["export_models"](encoders, names, MadeUpData(), file, 300)
    kl = np.load(file)["kl"]
    assert kl.shape == (3, LATENTS)
    mean, variance = np.arange(SIZES[0]), np.exp(-4.0)  # of the first factor, drawn uniformly
    by_hand = np.mean(0.5 * (mean**2 + variance + 4.0 - 1))
    assert kl[0, 2] == pytest.approx(by_hand, rel=0.1)
    assert kl[0, 1] == kl[0, 3] == 0
    assert main(["rank", str(file), "--similarity", "spearman", "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert [model["informative"] for model in models] == [2, 2, 2]
    assert all(model["udr"] > 0.9 for model in models)


def test_codes_of_ray_tune_are_ranked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draws = np.random.default_rng(0)
    signals = draws.normal(size=(POINTS, 2))
    for number, beta in enumerate((1.0, 4.0, 8.0)):
        trial = tmp_path / "experiment" / f"trial_{number}"
        trial.mkdir(parents=True)
        np.save(trial / "codes.npy", signals[:, :: 1 if number else -1])
        (trial / "params.json").write_text(json.dumps({"beta": beta, "seed": number}))
    file = tmp_path / "models.npz"
    code_of("from-ray-tune")["collect"](tmp_path / "experiment", file)
    assert list(np.load(file)["names"])[1] == "beta 4.0, seed 1"
    assert main(["rank", str(file), "--similarity", "spearman", "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert all(model["udr"] > 0.9 for model in models)


def rows_of(name: str, heading: str) -> list[list[str]]:
    """The rows of the table of a page whose heading begins so."""
    table = page(name).partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def test_names_of_scores_exist() -> None:
    rows = rows_of("from-disentanglement-lib", "result of the library")
    assert len(rows) > 7
    for _, metric, part in rows:
        for name in re.findall(r"`(\w+)`", metric):
            assert name in METRICS
            parts = {"score", *import_module(MODULES[name]).PARTS}
            wanted = re.findall(r"`(\w+)`", part)
            assert wanted and set(wanted) <= parts, f"{name}: {part}"


def test_names_of_methods_and_data_sets_exist() -> None:
    spec = " ".join(row[1] for row in rows_of("from-disentanglement-lib", "gin"))
    named = {name for name in METHODS if re.search(rf"\b{name}\b", spec)}
    assert named == set(METHODS) - {"pca", "infogan"}
    study = parse_study({"name": "n", "data": ["dsprites"], "methods": {"beta_vae": [1, 2, 4]}})
    assert study.data[0].name == "dsprites"
    assert "the other six have the same names" in page("from-disentanglement-lib")
    assert {choice.name for choice in read_study("locatello-2019").data} == THEIRS


def test_settings_that_stand_for_those_of_ray_tune_exist() -> None:
    cells = " ".join(row[1] for row in rows_of("from-ray-tune", "Ray Tune"))
    named = re.findall(r"`((?:training|running)\.\w+)(?:: (\d+))?`", cells)
    assert len(named) >= 5
    for name, value in named:
        section, _, field = name.partition(".")
        settings = {"name": "n", "data": ["dsprites"], "methods": {"beta_vae": [1]}}
        parse_study({**settings, section: {field: int(value or 1)}})
