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


def test_the_pace_is_that_since_training_began() -> None:
    now = [0.0]
    progress = Progress({"train": 10, "score": 0, "compare": 0}, cells=2, clock=lambda: now[0])
    progress.start("train")
    now[0] = 120.0
    for _ in range(4):
        progress.add("train", "trained")
    assert progress.per_minute("train") == pytest.approx(2.0)
    assert "2.0 models per minute" in progress.line()


def test_training_is_counted_in_steps_while_no_model_has_ended() -> None:
    now = [0.0]
    todo = {"train": 2, "score": 0, "compare": 0}
    progress = Progress(todo, cells=1, steps=2000, clock=lambda: now[0])
    progress.count_steps(500)  # of an earlier run: they say nothing of the pace
    progress.start("train")
    assert progress.minutes_left() is None
    now[0] = 300.0
    progress.count_steps(600)  # workers started meanwhile
    assert progress.minutes_left() is None
    now[0] = 600.0
    progress.count_steps(800)
    assert progress.minutes_left() == pytest.approx(1200 * 1.5 / 60)
    line = progress.line()
    assert "train 0/2 (40% of steps)" in line
    assert "1.8 models per hour, about 30 min left" in line


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
        left.append(progress.minutes_left())
    assert left[0] is None
    expected = [(3000 - step) * 1.5 / 60 for step in range(200, 3000, 100)]
    assert left[1:] == pytest.approx(expected)


def test_the_last_line_says_how_long_the_report_takes() -> None:
    progress = Progress({"train": 1, "score": 1, "compare": 1}, cells=1, steps=10, models=1000)
    progress.start("train")
    progress.add("train", "trained", 10)
    assert "left" not in progress.line(), "nothing says how long scores take"
    progress.add("score")
    assert "left" not in progress.line(), "nothing says how long a comparison takes"
    progress.add("compare")
    assert "about 20 s left" in progress.line()


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
