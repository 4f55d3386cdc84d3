"""The time left, against runs that are played step by step with known durations."""

from __future__ import annotations

from collections import Counter

import pytest

from flows.progress import Progress
from flows.time_left import Pace

STEPS = 500  # of a model


def played(
    models: int, per_step: float, per_score: float, workers: int, said: float | None = None
) -> list[tuple[float, float]]:
    """(the time left that a run tells every ten seconds, the time that it really takes from then).

    Workers train and score model after model; `said` is what they say of a score's seconds once one
    has been scored, the truth if it is None.
    """
    now = [0.0]
    todo = {"train": models, "score": models, "compare": 0}
    progress = Progress(todo, cells=1, steps=models * STEPS, clock=lambda: now[0], models=models)
    known: dict[str, float] = {}
    progress.pace = Pace(lambda: workers, known.get)
    progress.start("train")
    ends = []  # of models, trained and scored
    free = [0.0] * workers
    for _ in range(models):
        worker = free.index(min(free))
        trained = free[worker] + STEPS * per_step
        free[worker] = trained + per_score
        ends.append((free[worker] - per_score - STEPS * per_step, trained, free[worker]))
    told, counted = [], Counter[str]()
    for tick in range(10, int(max(free)), 10):
        now[0] = float(tick)
        progress.count_steps(
            sum(round(min(1.0, max(0.0, (tick - b) / (t - b))) * STEPS) for b, t, _ in ends)
        )
        for stage, place in (("train", 1), ("score", 2)):
            while counted[stage] < sum(end[place] <= tick for end in ends):
                counted[stage] += 1
                progress.add(stage)
        if counted["score"]:
            known["score"] = per_score if said is None else said
        if (left := progress.minutes_left()) is not None:
            told.append((60 * left, max(free) - tick + 7 + 0.009 * models))
    return told


@pytest.mark.parametrize("workers", [1, 2])
def test_the_time_left_is_near_the_truth_from_the_second_report_on(workers: int) -> None:
    for said, true in played(12, per_step=0.02, per_score=2, workers=workers):
        assert said == pytest.approx(true, rel=0.15, abs=13), "a worker may be idle at the end"


def test_scores_that_take_long_are_counted_once_one_is_known() -> None:
    told = played(20, per_step=0.02, per_score=20, workers=2)
    late = [(said, true) for said, true in told if true < 0.8 * told[0][1]]
    assert late
    for said, true in late:
        assert said == pytest.approx(true, rel=0.2, abs=30)


def test_a_wrong_duration_of_scores_is_made_good_by_that_of_training() -> None:
    """Calls that wait in Ray seem to take longer than they do."""
    for said, true in played(40, per_step=0.02, per_score=2, workers=2, said=6.0)[5:]:
        assert said == pytest.approx(true, rel=0.2, abs=20)


def test_models_that_are_not_trained_in_steps_are_counted_by_their_calls() -> None:
    progress = Progress({"train": 10, "score": 10}, cells=1, models=10)
    seconds: dict[str, float] = {}
    progress.pace = Pace(lambda: 2, seconds.get)
    progress.start("train")
    assert progress.minutes_left() is None
    progress.add("train", "trained")
    seconds["train"] = 30.0
    assert progress.minutes_left() is None, "nothing is known of scores"
    progress.add("score")
    seconds["score"] = 10.0
    assert progress.minutes_left() == pytest.approx(((9 * 30 + 9 * 10) / 2 + 7.09) / 60)


def test_comparisons_count_when_one_is_known() -> None:
    progress = Progress({"compare": 5, "dynamics": 2}, cells=1, models=0)
    seconds: dict[str, float] = {"compare": 12.0}
    progress.pace = Pace(lambda: 1, seconds.get)
    assert progress.minutes_left() is None, "nothing is known of dynamics"
    seconds["dynamics"] = 6.0
    assert progress.minutes_left() == pytest.approx((60 + 12) / 60)


@pytest.mark.parametrize(("steps", "seconds"), [(50, 5.0), (1, 60.0)])
def test_the_first_steps_say_nothing_of_the_pace(steps: int, seconds: float) -> None:
    """At first one worker compiles, and the other is alone; long models report few steps."""
    now = [0.0]
    progress = Progress({"train": 2, "score": 0}, cells=1, steps=1000, clock=lambda: now[0])
    progress.start("train")
    progress.count_steps(1)
    now[0] = 0.9 * seconds
    progress.count_steps(1 + (9 * steps) // 10)
    assert progress.minutes_left() is None
    now[0] = seconds
    progress.count_steps(1 + steps)
    assert progress.minutes_left() == pytest.approx((999 - steps) * seconds / steps / 60)
