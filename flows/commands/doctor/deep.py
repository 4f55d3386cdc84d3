"""One task on what a run starts: Prefect's API, a Ray of its own, a worker."""

from __future__ import annotations

import time

from flows.commands.doctor.check import Check, Checks
from infra.prefect_server import prefect_api
from infra.workers import running_workers

QUESTION, ANSWER = 6, 42


def answer(number: int) -> int:
    """On a worker."""
    return 7 * number


def one_task() -> Checks:
    """A flow with one task, which asks a worker; how long each part of it took to come up."""
    from prefect import flow, task

    began = time.monotonic()
    with prefect_api():
        api = time.monotonic()
        with running_workers(None, 1) as workers:
            ray = time.monotonic()

            @task
            def ask() -> object:
                return next(iter(workers.map(answer, [(QUESTION,)])))[1]

            @flow(name="doctor")
            def whole() -> object:
                return ask()

            said = whole()
            done = time.monotonic()
    found = f"Prefect's API in {api - began:.1f} s, Ray in {ray - api:.1f} s, "
    found += f"a task in {done - ray:.1f} s"
    if said != ANSWER:
        yield Check("one task", "fail", f"{found}: the worker answered {said!r}")
    else:
        yield Check("one task", "ok", found)
