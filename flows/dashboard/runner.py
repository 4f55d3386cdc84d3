"""Takes the runs that people start on the dashboard: one study at a time, and others at once.

The flows are those of this process; the code that a deployment names is never loaded.

`_Runner` changes `_cancellation_manager`, a private part of the Prefect version that pyproject.toml
pins. Look at it again with every update of Prefect.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import signal
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ObjectNotFound, ParameterBindError, ParameterTypeError
from prefect.flows import Flow
from prefect.runner import Runner
from prefect.types.entrypoint import EntrypointType

from flows.dashboard.deployments import (
    CANCELLED,
    plan_deployment,
    rank_deployment,
    report_deployment,
    study_deployment,
)
from infra.errors import WrongInput

POLL_SECONDS = 2.0
WATCHED_SECONDS = 10.0  # in which a runner that is alive asks for runs, also on a slow machine
PAGE_SIZE = 200  # the most that the API returns at once
SERVED_BY = "Served by "
STUDY = "study/study"
DEPLOYMENTS: dict[str, Flow[..., Any]] = {
    "study": study_deployment,
    "plan": plan_deployment,
    "rank": rank_deployment,
    "report": report_deployment,
}


class _Runner(Runner):
    """A cancelled run keeps our message, for which Prefect has its own."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        manager = self._cancellation_manager
        manager.cancel = partial(_cancel, manager.cancel)  # type: ignore[method-assign]
        return self


async def _cancel(cancel: Callable[..., Any], flow_run: Any, state_msg: str | None = None) -> None:
    await cancel(flow_run, CANCELLED)


async def take_runs(who: str, schedules: Any, when_ready: Callable[[], None]) -> None:
    """Take runs until Ctrl-C or SIGTERM; then end those that run."""
    # Not `prefect.serve` with `concurrency_limit=1`: at Ctrl-C it kills a run, which stays Running
    # and keeps its slot, so that the next study waits.
    studies = _Runner(limit=1, query_seconds=POLL_SECONDS)
    others = _Runner(limit=None, query_seconds=POLL_SECONDS)
    flows = {}
    for name, flow in DEPLOYMENTS.items():
        deployment = await (studies if name == "study" else others).aadd_flow(
            flow,
            name,
            schedules=schedules if name == "study" else None,
            description=f"{inspect.getdoc(flow.fn)}\n\n{SERVED_BY}{who}",
            paused=False,
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        flows[deployment] = flow
    running = [asyncio.create_task(runner.start()) for runner in (studies, others)]
    while not (studies.started and others.started) and not any(task.done() for task in running):
        await asyncio.sleep(0.05)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # in place of the runners' own handlers
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    when_ready()
    waiting = [asyncio.create_task(stopped.wait()), asyncio.create_task(_name_runs(flows))]
    await asyncio.wait({waiting[0], *running}, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    for runner in (studies, others):
        if runner.started:
            await runner.astop()
    results = await asyncio.gather(*running, return_exceptions=True)
    for error in results:
        if isinstance(error, Exception) and not stopped.is_set():
            raise error


# runs that wait ------------------------------------------------------------------------------


async def _name_runs(flows: Mapping[UUID, Flow[..., Any]]) -> None:
    """Name runs again and again, while this server runs."""
    while True:
        try:
            async with get_client() as client:
                while True:
                    await name_waiting_runs(client, flows)
                    await asyncio.sleep(POLL_SECONDS)
        except Exception as error:  # an answer is missing; they are named a little later
            logging.getLogger(__name__).debug("runs are not named: %s", error)
        await asyncio.sleep(POLL_SECONDS)


async def name_waiting_runs(client: Any, flows: Mapping[UUID, Flow[..., Any]]) -> None:
    """Give runs that wait the name which they have when they run; Prefect invents one."""
    waiting = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=list(flows)),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
    )
    first = FlowRunSort.EXPECTED_START_TIME_ASC
    for run in await client.read_flow_runs(flow_run_filter=waiting, sort=first, limit=PAGE_SIZE):
        name = _name(flows[run.deployment_id], run.parameters)
        if name not in ("", run.name):
            await client.update_flow_run(run.id, name=name)


def _name(flow: Flow[..., Any], parameters: dict[str, Any]) -> str:
    """The name of a run; empty if its form is wrong, which ends it as soon as it starts."""
    try:
        return str(flow.flow_run_name).format(**flow.validate_parameters(parameters))
    except (ParameterTypeError, ParameterBindError):
        return ""


# another server on the same Prefect server ---------------------------------------------------


async def check_no_other(seconds: float = WATCHED_SECONDS) -> None:
    """Raise if somebody takes the runs of this Prefect server already.

    Whoever does asks for runs every few seconds, and Prefect notes when. We look whether that
    changes: clocks may differ.
    """
    async with get_client() as client:
        first = await _study_deployment(client)
        if first is None or first.status is None or first.status.value != "READY":
            return  # nobody has asked for a minute
        for _ in range(round(seconds / POLL_SECONDS)):
            await asyncio.sleep(POLL_SECONDS)
            now = await _study_deployment(client)
            if now is not None and now.last_polled != first.last_polled:
                _, _, who = (now.description or "").partition(SERVED_BY)
                found = f"the Prefect server of another tolstoy serve{who and f', {who}'}"
                raise WrongInput("PREFECT_API_URL", found, "one that has no tolstoy serve")


async def _study_deployment(client: Any) -> Any:
    try:
        return await client.read_deployment_by_name(STUDY)
    except ObjectNotFound:
        return None
