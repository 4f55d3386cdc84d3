"""Counts, the pace and the time left, and plain lines where there is no terminal."""

from __future__ import annotations

import io
import threading

import pytest

from flows.progress import Progress, displayed


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


def test_without_a_terminal_there_are_plain_lines() -> None:
    progress = Progress({"train": 1, "score": 1, "compare": 0}, cells=1)
    file = io.StringIO()
    with displayed(progress, file):
        progress.start("train")
        progress.add("train", "trained")
    assert file.getvalue() == progress.line() + "\n"
    assert "\x1b" not in file.getvalue()
