"""What stands between the command and the first model: Prefect's API, Ray and a worker's imports.

`python -m flows.start_up` does just that and ends, so that its time can be measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.runtime import quieten


def call_on_a_worker(function: Callable[[], Any]) -> Any:
    """What a function returns that is called as a run calls: on Ray, from a task of a flow."""
    from prefect import flow, task

    from infra.prefect_server import prefect_api
    from infra.workers import running_workers

    with prefect_api(), running_workers(None, 1) as workers:
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
