"""What the review's controlled experiments show, on fewer points.

Forests are left out, as they take longest.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows.benchmarks import as_study, experiments
from flows.benchmarks.experiments import EXPERIMENTS, run
from flows.cli import main

ALL = tuple(dict.fromkeys(metric for metric, _ in as_study.COLUMNS.values()))
QUICK = tuple(name for name in ALL if name not in ("dci_forest", "rf_vae"))
MODES = ["review", "study"]
GAPS = ("mig", "mig_sup", "jemmig", "dcimig")
Curves = dict[tuple[str, str], dict[Any, float]]


def curves(name: str, metrics: tuple[str, ...], points: int = 1000, mode: str = "study") -> Curves:
    by_column: Curves = {}
    for row in run(name, points, metrics=metrics, mode=mode):
        by_column.setdefault((row["metric"], row["part"]), {})[row["setting"]] = row["value"]
    return by_column


def test_every_metric_falls_as_noise_grows() -> None:
    scores = curves("noise", QUICK)
    for column, values in scores.items():
        assert values[0.0] - values[1.0] > (0.05 if column[0] == "sap" else 0.15), column
    for name in GAPS:
        falling = list(next(scores[column] for column in scores if column[0] == name).values())
        assert falling == sorted(falling, reverse=True)
    assert max(scores["factor_vae", as_study.CALIBRATED].values()) == 1
    assert scores["irs", "max_deviation_weighted"][0.0] == pytest.approx(0.9, abs=0.02)


def test_mixing_keeps_explicitness_and_closes_the_gaps() -> None:
    scores = curves("mixing", (*GAPS, "dci_lasso"))
    explicitness = scores["dci_lasso", "informativeness_test"]
    assert explicitness[0.4] == pytest.approx(explicitness[0.0], abs=0.02)
    assert scores["dci_lasso", "disentanglement"][0.5] < 0.3
    assert scores["mig", "score"][0.5] < 0.05 and scores["mig_sup", "score"][0.5] < 0.05


def test_a_nonlinear_relation_lowers_the_explicitness_of_a_linear_regression() -> None:
    scores = curves("nonlinear", ("dci_lasso", "mig"))
    explicitness = scores["dci_lasso", "informativeness_test"]
    assert explicitness[0.0] > 0.95 and explicitness[1.0] < 0.7
    assert scores["dci_lasso", "disentanglement"][0.4] > 0.9
    assert scores["mig", "score"][1.0] < scores["mig", "score"][0.0] - 0.3


def test_factors_that_are_not_measured_lower_only_some_metrics() -> None:
    scores = curves("partial", (*GAPS, "irs", "modularity"))
    for column in (("mig", "score"), ("jemmig", "normalised"), ("dcimig", "score")):
        assert scores[column][2.0] == pytest.approx(scores[column][8.0], abs=0.02)
    for column in (
        ("mig_sup", "score"),
        ("irs", "max_deviation_weighted"),
        ("modularity", "score"),
    ):
        assert scores[column][2.0] < scores[column][8.0] - 0.3


def test_scores_of_more_points_are_closer_to_those_of_all() -> None:
    scores = curves("sample_sizes", GAPS, points=10_000)
    for values in scores.values():
        assert list(values) == [100.0, 1000.0]
        assert values[1000.0] < values[100.0]


def test_what_cannot_be_scored_is_none() -> None:
    for mode in MODES:
        rows = run("noise", 300, metrics=("rf_vae",), mode=mode)
        assert {row["value"] for row in rows} == {None}


def test_z_max_variance_has_a_value_as_the_review_draws_its_groups() -> None:
    """Section 5.2: below 1 for a perfect representation, above 0 for noise, as few points share all
    factors but one."""
    values = curves("noise", ("rf_vae",), points=20_000, mode="review")["rf_vae", "calibrated"]
    assert 0.2 < values[0.0] < 1 and 0 < values[1.0] < values[0.0]
    study = curves("noise", ("rf_vae",), points=20_000)["rf_vae", as_study.CALIBRATED]
    assert set(study.values()) == {None}


def test_dci_reads_values_as_the_review_does_and_bins_as_a_study_does() -> None:
    """A linear regression of a uniform number's ten bins leaves an error of a bin's width."""
    review = curves("noise", ("dci_lasso",), mode="review")
    study = curves("noise", ("dci_lasso",))
    assert review["dci_lasso", "1 - 12 MSE"][0.0] == pytest.approx(1, abs=5e-4)
    assert study["dci_lasso", "informativeness_test"][0.0] < 0.996
    text, published = (review["dci_lasso", f"1 - {scale} MSE"] for scale in (6, 12))
    for setting in (0.0, 0.2, 0.4):  # later, some factors are below 0, which counts as 0
        assert 1 - published[setting] == pytest.approx(2 * (1 - text[setting]))


def test_repeats_have_a_mean_and_a_deviation() -> None:
    rows = run("noise", 1000, 3, metrics=("mig", "sap"))
    assert all(row["deviation"] is not None and row["as"] == "review" for row in rows)
    assert {row["deviation"] for row in run("noise", 1000, 1, metrics=("mig",))} == {None}
    mig = next(row for row in rows if row["metric"] == "mig" and row["setting"] == 0.4)
    assert 0 < mig["deviation"] < 0.05


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_command_prints_and_draws_each_one(
    experiment: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = partial(run, metrics=("mig", "sap"))
    monkeypatch.setattr(experiments, "run", quick)
    picture = tmp_path / "picture.svg"
    asked = ["bench", "metrics", "--experiment", experiment, "--size", "400"]
    assert main([*asked, "--plot", str(picture)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["metric", "part"] and lines[-1].split()[:2] == ["mig", "score"]
    assert "<svg" in picture.read_text(encoding="utf-8")
    assert main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in rows} == {"mig", "sap"}
    assert {row["as"] for row in rows} == {"review"} and rows[0]["deviation"] is not None
    assert main([*asked, "--as", "study", "--repeats", "1", "--json"]) == 0
    (*_, row) = json.loads(capsys.readouterr().out)
    assert (row["as"], row["deviation"]) == ("study", None)
    assert main([*asked, "--plot", str(picture)]) == 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["metrics", "--experiment", "nois"], "did you mean noise?"),
        (["metrics"], "--experiment: found None"),
        (["metrics", "--experiment", "noise", "--size", "9"], "--size: found 9"),
        (["metrics", "--experiment", "noise", "--as", "mine"], "--as: found 'mine'"),
        (["metrics", "--experiment", "noise", "--repeats", "0"], "--repeats: found 0"),
        (["data", "--as", "study"], "--as: found 'study'"),
        (["data", "--size", "0"], "--size: found 0"),
        (["data", "--repeats", "2"], "--repeats: found 2"),
        (["data", "--experiment", "noise"], "--experiment: found 'noise'"),
        (["data", "--plot", "x.png"], "--plot: found 'x.png'"),
    ],
)
def test_wrong_options_are_named(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == 2
    assert named in capsys.readouterr().err
