"""What a study costs, from made-up measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import data
from metrics import METRICS
from tasks.study.cost import (
    PASSES,
    DataSetCost,
    Job,
    Machines,
    data_set_cost,
    makespan,
    models_in_training,
    wall_seconds,
)
from tasks.study.measurements import DYNAMICS, MODEL, PAIRS, STEP, Measured, few_points, keys
from tasks.study.model import FAILED, TRAINED
from tasks.study.reading import parse_study
from tasks.study.spec import Metrics, Study
from tasks.study.survey import CellState

MEASURED = {
    STEP: {"step": 0.5, "image": 0.25, "checkpoint": 7000.0},
    MODEL: {
        "train": 3.0,
        "train_row": 0.125,
        "score": 2.0,
        "metrics": 4.0,
        "weights": 1000.0,
        "tables": 100.0,
    },
    PAIRS: {"compare_row": 0.5, "pair": 0.25, "pair_bytes": 10.0, "row_bytes": 2.0},
    DYNAMICS: {"walk": 4.0, "pass": 0.5, "point_pair": 0.25},
}


def a_study(**changes: Any) -> Study:
    spec: dict[str, Any] = {
        "name": "made-up",
        "data": [{"name": "dsprites", "source": "redrawn"}],
        "methods": {"beta_vae": [1, 4]},
        "seeds": 3,
        "probe": 16,
        "training": {"steps": 10, "batch_size": 128},
        "metrics": {"names": ["mig"], "points": 4000},
    }
    return parse_study({**spec, **changes})


def measured(study: Study) -> Measured:
    known = {choice.name: data.describe(choice.name) for choice in study.data}
    return {key: MEASURED[key.partition(" ")[0]] for key in keys(study, known)}


def cost_of(study: Study, *states: CellState, pairs: int = 0, **more: Any) -> DataSetCost:
    of_all = states or tuple(CellState(cell) for cell in study.cells())
    known = data.describe(study.data[0].name)
    return data_set_cost(study, of_all, known, measured(study), pairs, more.pop("left", 0), **more)


def test_a_model_is_its_steps_its_probe_and_what_each_takes() -> None:
    cost = cost_of(a_study())
    steps = 10 * 0.5 * 128 / 64  # measured with batches of 64
    probe = 16 * 0.125
    encoded = 4000 * 0.25
    metrics = 4.0 * 4  # measured on 1000 points
    assert set(cost.jobs) == {Job(steps + probe + 3.0, 2.0 + encoded + metrics)}
    assert len(cost.jobs) == 6
    assert cost.hours["training"] == pytest.approx(6 * (steps + probe + 3) / 3600)


def test_what_is_done_costs_nothing_and_what_has_no_scores_only_these() -> None:
    study = a_study()
    first, second = (CellState(cell) for cell in study.cells())
    ids = [model.id for model in first.cell.models]
    first.status = {ids[0]: TRAINED, ids[1]: TRAINED, ids[2]: FAILED}
    first.scored = {ids[0]}
    jobs = cost_of(study, first, second).jobs
    assert [bool(job.training) for job in jobs] == [False, True, True, True]
    assert all(job.scoring for job in jobs)


def test_a_method_fitted_at_once_takes_its_pictures_and_no_steps() -> None:
    study = a_study(methods={"pca": []})
    made = {**measured(study)}
    key = next(key for key in made if key.startswith(STEP))
    made[key] = {**MEASURED[STEP], "step": 0.0, "fit": 0.5}
    states = [CellState(cell) for cell in study.cells()]
    for pictures, fitted in ((1000, 1000), (200_000, 200_000), (200_001, 20_480), (0, 20_480)):
        described = replace(data.describe("dsprites"), pictures=pictures or None)
        (job,) = set(data_set_cost(study, states, described, made, 0, 0).jobs)
        assert job.training == pytest.approx(0.5 * fitted + 16 * 0.125 + 3.0)


def test_without_metrics_nothing_is_scored() -> None:
    assert {job.scoring for job in cost_of(a_study(metrics=[])).jobs} == {0.0}


def test_validation_and_zero_shot_rows_are_encoded_where_there_are_splits() -> None:
    def images(name: str, metrics: list[str]) -> float:
        settings = {"names": metrics, "points": 1000, "test_points": 400}
        study = a_study(data=[name], metrics=settings)
        of_all = [CellState(cell) for cell in study.cells()]
        cost = data_set_cost(study, of_all, data.describe(name), measured(study), 0, 0)
        return (cost.jobs[0].scoring - 2.0 - 4.0) / 0.25

    assert images("teapots", ["dci_lasso"]) == 1000 + 3 * 400
    assert images("teapots", ["dci"]) == images("dsprites", ["dci_lasso"]) == 1000 + 400


def test_each_picture_is_encoded_once_at_most() -> None:
    settings = {"names": ["beta_vae"], "points": 1000, "test_points": 1000}
    many = a_study(metrics={**settings, "group_size": 4000})
    scoring = cost_of(many).jobs[0].scoring
    assert scoring == pytest.approx(2.0 + 737_280 * 0.25 + 4.0)


def test_pairs_are_compared_and_take_space() -> None:
    study = a_study()
    cost = cost_of(study, pairs=30, left=12)
    assert cost.comparing == 6 * 16 * 0.5 + 12 * 0.25
    assert cost_of(study, pairs=30).comparing == 0.0
    assert cost.tables - cost_of(study).tables == 30 * 10.0


def test_dynamics_are_a_stage_of_studies_with_traces_only() -> None:
    assert cost_of(a_study()).hours.keys() == {"training", "scoring", "comparing"}
    traced = a_study(training={"steps": 1000}, traces={"count": 5, "samples": 7})
    cost = cost_of(traced, dynamics_left=[3, 2])
    walk = (4 + PASSES * 0.5) * 5 * 7 * (5 + 7)
    of_pairs = 0.25 * (5 * 7) ** 2  # all points, as there are fewer than 2,000
    seconds = (3 * walk + 6 * of_pairs, 2 * walk + 3 * of_pairs)
    assert cost.dynamics_of_cells == pytest.approx(seconds)
    assert cost.hours["dynamics"] == pytest.approx(sum(seconds) / 3600)
    assert cost_of(traced).hours["dynamics"] == 0.0


def test_dynamics_of_fewer_snapshots_and_points_take_less() -> None:
    traced = {"training": {"steps": 1000}, "traces": {"count": 5, "samples": 7}}
    fewer = a_study(**traced, dynamics={"snapshots": 3, "points": 10})
    walk = (4 + PASSES * 0.5) * 3 * 7 * (3 + 7)
    of_cells = cost_of(fewer, dynamics_left=[2]).dynamics_of_cells
    assert of_cells == pytest.approx((2 * walk + 3 * 0.25 * 10**2,))


def test_samples_that_vary_are_counted_as_the_grid_that_they_are() -> None:
    traces = {"count": 5, "samples": 30, "vary": ["position_x", "position_y"]}
    traced = a_study(training={"steps": 1000}, traces=traces)
    walk = (4 + PASSES * 0.5) * 5 * 25 * (5 + 25)
    of_cells = cost_of(traced, dynamics_left=[2]).dynamics_of_cells
    assert of_cells == pytest.approx((2 * walk + 3 * 0.25 * 125**2,))


def test_the_bytes_of_a_model_grow_with_its_probe_and_its_curve() -> None:
    cost = cost_of(a_study())
    assert cost.weights == 6 * 1000
    assert cost.tables == 6 * (100 + 16 * 2)
    logged = {"steps": 10, "log_every": 2}
    curve = 5 * (4 + 4 * 4)  # a step and four numbers
    assert cost_of(a_study(training=logged)).tables == 6 * (100 + 16 * 2 + curve)
    assert cost.checkpoints == 2 * 7000, "the newest and the one before it"


@pytest.mark.parametrize(
    ("jobs", "at_once", "ends"),
    [([], 3, 0), ([5], 3, 5), ([2, 2, 2, 2], 2, 4), ([1, 1, 1, 9], 2, 10), ([3] * 9, 4, 9)],
)
def test_jobs_begin_as_soon_as_a_place_is_free(
    jobs: list[float], at_once: int, ends: float
) -> None:
    assert makespan(jobs, at_once) == ends


def wall(cores: int, gpus: float = 0, comparing: float = 0, **changes: Any) -> float:
    jobs = (Job(10.0, 2.0),) * 6
    cost = DataSetCost("dsprites", "redrawn", jobs, comparing, 0, 0, 0)
    return wall_seconds(a_study(**changes), [cost], Machines(cores, gpus))


def test_more_cores_than_models_do_not_help() -> None:
    assert [wall(cores) for cores in (1, 2, 6, 100)] == [72, 36, 12, 12]
    assert wall(4, comparing=8.0) == 26


def test_a_cells_dynamics_take_one_core() -> None:
    cost = DataSetCost("dsprites", "redrawn", (), 0, 0, 0, 0, dynamics_of_cells=(6.0, 2.0, 3.0))
    seconds = [wall_seconds(a_study(), [cost], Machines(cores)) for cores in (1, 2, 100)]
    assert seconds == [11, 6, 6]


def test_models_that_take_several_cores_are_fewer_at_once() -> None:
    assert wall(6, training={"cpus_per_model": 2}) == 24


def test_gpus_train_while_cores_score() -> None:
    assert wall(6, gpus=2) == 30 + 2
    assert wall(6, gpus=2, training={"gpus_per_model": 0.5}) == 20 + 2
    assert wall(6, gpus=2, training={"gpus_per_model": 0}) == 12, "it trains on cores"
    assert wall(1, gpus=6) == 60 + 2, "each needs a core, too"


def test_no_more_models_have_checkpoints_than_train_at_once() -> None:
    cost = cost_of(study := a_study())
    assert models_in_training(study, [cost], Machines(4)) == 4
    assert models_in_training(study, [cost], Machines(400)) == 6


def test_metrics_are_measured_on_few_points() -> None:
    few = few_points(Metrics(repeats=3))
    assert (few.points, few.test_points, few.repeats) == (1000, 500, 1)
    assert few_points(Metrics(points=64, test_points=16)).points == 64


def test_each_regime_of_label_noise_takes_its_metrics_and_pictures_of_groups_again() -> None:
    def scoring(names: list[str], noise: Any) -> float:
        metrics = {"names": names, "points": 4000, "group_size": 2, "label_noise": noise}
        study = a_study(metrics=metrics)
        assert few_points(study.metrics).label_noise == ()
        return cost_of(study).jobs[0].scoring

    once = scoring(["mig"], None)
    assert scoring(["mig"], ["low", "high"]) == once + 2 * 4.0 * 4
    groups = (4000 + 5000) * 2
    assert scoring(["factor_vae"], None) == once + 0.25 * groups
    assert scoring(["factor_vae"], "low") == once + 4.0 * 4 + 2 * 0.25 * groups


def test_a_pace_that_is_known_replaces_the_measured_one() -> None:
    job = cost_of(a_study(), pace=lambda model: 0.01).jobs[0]
    assert job.training == pytest.approx(10 * 0.01 + 16 * 0.125 + 3)


def test_a_metric_of_one_data_set_costs_what_its_line_says() -> None:
    """It is not measured: the pictures that are measured are others."""
    scene = {"data": [{"name": "scene", "pictures": 1000}], "sources": ["look-alike"]}
    without, agents = (
        a_study(**scene, metrics={"names": names, "points": 4000})
        for names in (["mig"], ["mig", "clustering"])
    )
    assert few_points(agents.metrics).names == ("mig",)
    first, second = (cost_of(study).jobs[0].scoring for study in (without, agents))
    assert second - first == METRICS["clustering"].cost > 0
