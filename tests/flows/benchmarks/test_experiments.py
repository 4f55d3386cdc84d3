"""What the review's controlled experiments show, on fewer points.

Forests are left out, as they take longest, and with 8 factors Z-max variance, which
needs more points.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows.benchmarks import experiments
from flows.benchmarks.experiments import ALL, EXPERIMENTS, run
from flows.cli import main

QUICK = tuple(name for name in ALL if name not in ("dci_forest", "rf_vae"))
GAPS = ("mig", "mig_sup", "jemmig", "dcimig")
Curves = dict[tuple[str, str], dict[Any, float]]


def curves(name: str, metrics: tuple[str, ...], points: int = 1000) -> Curves:
    found: Curves = {}
    for row in run(name, points, metrics=metrics, sets=400):
        found.setdefault((row["metric"], row["part"]), {})[row["setting"]] = row["value"]
    return found


def test_every_metric_falls_as_noise_grows() -> None:
    found = curves("noise", QUICK)
    for column, values in found.items():
        assert values[0.0] - values[1.0] > (0.05 if column[0] == "sap" else 0.15), column
    for name in GAPS:
        falling = list(next(found[column] for column in found if column[0] == name).values())
        assert falling == sorted(falling, reverse=True)
    assert max(found["factor_vae", experiments.CALIBRATED].values()) == 1
    assert found["irs", "max_deviation_weighted"][0.0] == pytest.approx(0.9, abs=0.02)


def test_mixing_leaves_explicitness_and_takes_the_gaps() -> None:
    found = curves("mixing", (*GAPS, "dci_lasso"))
    told = found["dci_lasso", "informativeness_test"]
    assert told[0.4] == pytest.approx(told[0.0], abs=0.02)
    assert found["dci_lasso", "disentanglement"][0.5] < 0.3
    assert found["mig", "score"][0.5] < 0.05 and found["mig_sup", "score"][0.5] < 0.05


def test_a_bent_relation_costs_a_linear_regression_its_explicitness() -> None:
    found = curves("nonlinear", ("dci_lasso", "mig"))
    told = found["dci_lasso", "informativeness_test"]
    assert told[0.0] > 0.95 and told[1.0] < 0.7
    assert found["dci_lasso", "disentanglement"][0.4] > 0.9
    assert found["mig", "score"][1.0] < found["mig", "score"][0.0] - 0.3


def test_factors_that_are_not_measured_cost_only_some_metrics() -> None:
    found = curves("partial", (*GAPS, "irs", "modularity"))
    for column in (("mig", "score"), ("jemmig", "normalised"), ("dcimig", "score")):
        assert found[column][2.0] == pytest.approx(found[column][8.0], abs=0.02)
    for column in (
        ("mig_sup", "score"),
        ("irs", "max_deviation_weighted"),
        ("modularity", "score"),
    ):
        assert found[column][2.0] < found[column][8.0] - 0.3


def test_more_points_come_closer_to_all_points() -> None:
    found = curves("sample_sizes", GAPS, points=10_000)
    for values in found.values():
        assert list(values) == [100.0, 1000.0]
        assert values[1000.0] < values[100.0]


def test_what_cannot_be_scored_is_none() -> None:
    assert {row["value"] for row in run("noise", 300, metrics=("rf_vae",))} == {None}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_command_prints_and_draws_each_one(
    experiment: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = partial(run, metrics=("mig", "rf_vae"), sets=50)
    monkeypatch.setattr(experiments, "run", quick)
    picture = tmp_path / "picture.svg"
    asked = ["bench", "metrics", "--experiment", experiment, "--size", "400"]
    assert main([*asked, "--plot", str(picture)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["metric", "part"] and lines[-1].split()[:2] == ["mig", "score"]
    assert "<svg" in picture.read_text(encoding="utf-8")
    assert main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in rows} == {"mig", "rf_vae"}
    assert main([*asked, "--plot", str(picture)]) == 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["metrics", "--experiment", "nois"], "did you mean noise?"),
        (["metrics"], "--experiment: found None"),
        (["metrics", "--experiment", "noise", "--size", "9"], "--size: found 9"),
        (["data", "--experiment", "noise"], "--experiment: found 'noise'"),
        (["data", "--plot", "x.png"], "--plot: found 'x.png'"),
    ],
)
def test_wrong_options_are_named(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == 2
    assert named in capsys.readouterr().err
