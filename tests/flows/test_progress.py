"""Counts, the pace and the time left, and plain lines where there is no terminal."""

from __future__ import annotations

import io
import re
import threading

import pytest
from rich.console import Console

from flows.progress import Progress, displayed, progress_bar


def test_counts_from_many_threads_are_exact() -> None:
    progress = Progress({"train": 800, "score": 0, "compare": 0}, cells=1)

    def work() -> None:
        for i in range(100):
            progress.add("train", "diverged" if i % 10 == 0 else "trained")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress.done["train"] == 800
    assert progress.bad == {"diverged": 80}
    assert "train 800/800" in progress.line()
    assert "80 diverged" in progress.line()


def test_pace_and_time_left() -> None:
    now = [0.0]
    progress = Progress({"train": 10, "score": 0, "compare": 0}, cells=2, clock=lambda: now[0])
    progress.start("train")
    now[0] = 120.0
    for _ in range(4):
        progress.add("train", "trained")
    assert progress.per_minute("train") == pytest.approx(2.0)
    assert progress.minutes_left("train") == pytest.approx(3.0)
    assert "3 min of training left" in progress.line()


def test_training_is_counted_in_steps_while_no_model_has_ended() -> None:
    now = [0.0]
    todo = {"train": 2, "score": 2, "compare": 0}
    progress = Progress(todo, cells=1, steps=2000, clock=lambda: now[0])
    progress.count_steps(500)  # of an earlier run: they say nothing of the pace
    progress.start("train")
    assert progress.minutes_left("train") is None
    now[0] = 600.0
    progress.count_steps(800)
    assert progress.minutes_left("train") == pytest.approx(40.0)
    line = progress.line()
    assert "train 0/2 (40% of steps), score 0/2" in line
    assert "1.8 models per hour, 40 min of training left" in line
    assert "scoring left" not in line, "nothing is known of it"


def test_time_left_does_not_rise_while_long_models_train_evenly() -> None:
    now = [0.0]
    todo = {"train": 3, "score": 0, "compare": 0}
    progress = Progress(todo, cells=1, steps=3000, clock=lambda: now[0])
    progress.start("train")
    left = []
    for step in range(100, 3000, 100):
        now[0] = step * 1.5
        if step % 1000 == 0:
            progress.add("train", "trained", 100)  # the rest was reported before
        else:
            progress.count_steps(step)
        left.append(progress.minutes_left("train"))
    assert left == pytest.approx([(3000 - step) * 1.5 / 60 for step in range(100, 3000, 100)])


def test_scoring_ends_after_training_and_comparing_has_its_own_time() -> None:
    now = [0.0]
    todo = {"train": 4, "score": 4, "compare": 10}
    progress = Progress(todo, cells=1, steps=400, clock=lambda: now[0])
    progress.start("train")
    now[0] = 60.0
    progress.add("train", "trained", 100)
    progress.start("score")
    now[0] = 66.0
    progress.add("score")
    assert progress.minutes_left("score") == pytest.approx(3.3), "that of training, not 18 s"
    assert "3 min of training left" in progress.line()
    assert "scoring" not in progress.line(), "the same number is not said twice"
    for _ in range(3):
        progress.add("train", "trained", 100)
    progress.start("compare")
    now[0] = 120.0
    progress.add("compare")
    line = progress.line()
    assert "train 4/4, score 1/4, compare 1/10" in line
    assert "3 min of scoring left, 8 min of comparing left" in line


def test_without_a_terminal_there_are_plain_lines() -> None:
    progress = Progress({"train": 1, "score": 1, "compare": 0}, cells=1)
    file = io.StringIO()
    with displayed(progress, file):
        progress.start("train")
        progress.add("train", "trained")
    assert file.getvalue() == progress.line() + "\n"
    assert "\x1b" not in file.getvalue()


def test_a_finished_bar_differs_from_an_empty_one_in_16_colours() -> None:
    def colours(done: int) -> list[str]:
        file = io.StringIO()
        console = Console(file=file, force_terminal=True, color_system="standard", width=80)
        console.print(progress_bar(done, 10))
        return re.findall(r"\x1b\[([\d;]+)m[━╸╺]+", file.getvalue())

    empty, (half, *_, rest), finished = colours(0), colours(5), colours(10)
    assert [rest] == empty
    assert len({*empty, half, *finished}) == 3
