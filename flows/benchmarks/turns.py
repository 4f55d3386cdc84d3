"""Two ways of doing the same, which take turns: each in its own process, or both in one.

What disturbs the machine disturbs both alike; in its own process each side has its own allocator,
environment and caches.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

from flows.benchmarks import Row
from infra.runtime import WORKER

PROCESSES = 3  # on each side
ONE_THREAD = {name: "1" for name in WORKER if name.endswith("_NUM_THREADS")}


class Side:
    """A module of this package run as `python -m MODULE ARGUMENTS`, which calls `serve`."""

    def __init__(self, module: str, arguments: Sequence[str], worker: bool) -> None:
        """`worker`: with the environment of the application's workers; else only one thread."""
        self.module = module
        bare = {name: value for name, value in os.environ.items() if name not in WORKER}
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env={**bare, **(WORKER if worker else ONE_THREAD)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.numbers()  # ready

    def numbers(self) -> list[float]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.module} ended with {self.process.wait()}")
        return [float(word) for word in line.split()]

    def turn(self) -> list[float]:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.numbers()

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def serve(turn: Callable[[], Sequence[float]]) -> None:
    """In a side's process: answer every line with the numbers of one turn."""
    print(0, flush=True)
    for _ in sys.stdin:
        print(*turn(), flush=True)


def take_turns(sides: Sequence[Side], turns: int) -> list[list[list[float]]]:
    """The numbers by side and turn, without the first turn, which only warms up."""
    try:
        numbers: list[list[list[float]]] = [[] for _ in sides]
        for _ in range(turns + 1):
            for side, its_turns in zip(sides, numbers, strict=True):
                its_turns.append(side.turn())
        return [its_turns[1:] for its_turns in numbers]
    finally:
        for side in sides:
            side.end()


def compared(
    name: str, module: str, ours: Sequence[str], plain: Sequence[str], turns: int, note: str
) -> Row:
    """Milliseconds, from the first number of every turn; the ratio is the median over the turns.

    The module is run with the arguments of ours and of the baseline, several times each: where the
    system's allocator puts a process's first arrays can double all of its times.
    """
    mine: list[float] = []
    base: list[float] = []
    for _ in range(PROCESSES):
        sides = (Side(module, ours, worker=True), Side(module, plain, worker=False))
        my_turns, base_turns = take_turns(sides, max(1, turns // PROCESSES))
        mine += [1e3 * numbers[0] for numbers in my_turns]
        base += [1e3 * numbers[0] for numbers in base_turns]
    ratio = statistics.median(b / m for m, b in zip(mine, base, strict=True))
    return Row(name, statistics.median(mine), statistics.median(base), "ms", ratio, note)


def in_a_worker(module: str, size: int) -> list[Row]:
    """The rows of a module that compares within one process, in a worker's environment.

    It is run as `python -m MODULE SIZE` and prints its rows by `print_rows`.
    """
    measured = subprocess.run(
        [sys.executable, "-m", module, str(size)],
        env={**os.environ, **WORKER},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return [Row(**row) for row in json.loads(measured.stdout)]


def print_rows(rows: Sequence[Row]) -> None:
    print(json.dumps([asdict(row) for row in rows]))
