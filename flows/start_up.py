"""What stands between the command and the first model: Prefect's API, Ray and a worker's imports.

They start side by side. `python -m flows.start_up` does just that and ends, so that its time can be
measured.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from flows import worker
from infra.prefect_server import starting_prefect_api
from infra.runtime import quieten
from infra.workers import Resources, Workers, running_workers
from tasks.study.spec import Study


class StartedWorkers:
    """Workers that are started now and end with the `with` block in which they are used, or when
    they are closed. (No dataclass: Prefect would look inside.)

    Meanwhile they import what the models need; one compiles, so that the others need not.
    """

    def __init__(
        self, ray_address: str | None, workers: int | None, study: Study, models: int
    ) -> None:
        self._until_closed = ExitStack()
        self.workers = self._until_closed.enter_context(running_workers(ray_address, workers))
        warm_up(self.workers, study, models)

    def __enter__(self) -> Workers:
        return self.workers

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._until_closed.close()


def warm_up(workers: Workers, study: Study, models: int) -> None:
    """Let workers of this machine import and compile while other things start; models wait for
    it. A cluster's workers start when there is work for them."""
    at_once = int(workers.count / study.training.cpus_per_model)
    if workers.cluster or not models:
        return
    calls = workers.calls(worker.warm_up, Resources(tries=1))
    for number in range(max(1, min(at_once, models))):
        calls.add((study, number == 0))
    calls.end()


def call_on_a_worker(function: Callable[[], Any]) -> Any:
    """What a function returns that is called as a run calls: on Ray, from a task of a flow."""
    with starting_prefect_api() as wait_for_api:
        from prefect import flow, task

        with running_workers(None, 1) as workers:
            wait_for_api()
            ask = task(name="ask")(lambda: list(workers.map(function, [()])))
            ((_, result),) = flow(name="doctor")(lambda: ask())()
    return result


def imports() -> None:
    """What a worker imports for its first model."""
    import tasks.score
    import tasks.train  # noqa: F401


if __name__ == "__main__":
    quieten()
    call_on_a_worker(imports)
