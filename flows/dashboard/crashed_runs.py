"""Correct what Prefect shows as Running: crashed runs, and tasks that have ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

from infra.errors import RUN_AGAIN
from infra.store import Store

ID_FILE = "id"
PAGE_SIZE = 200  # the most that the API returns at once
CRASHED = f"The driver process crashed. {RUN_AGAIN}"
END_NOT_RECEIVED = "The task has ended, but Prefect did not receive the message that says so."
SETTLE_SECONDS = 15.0  # more than Prefect takes to store a message


def tags_of(store: Store) -> list[str]:
    """Tags by which the runs of a store are found, on a server that several machines may use.

    The path alone is not enough: another machine may have another store at the same path, and host
    names do not help, as each new container has another one. Nor is the id: a copy has the same.
    """
    place = f"{store}" if "://" in store.uri else f"file://{store.root}"
    return [f"store:{place}", f"store-id:{_id_of(store)}"]


def _id_of(store: Store) -> str:
    with suppress(FileNotFoundError):
        return store.read_bytes(ID_FILE).decode()
    store.write_bytes(uuid4().hex.encode(), ID_FILE)
    return store.read_bytes(ID_FILE).decode()


def close_crashed_runs(store: Store, alone: bool = True) -> int:
    """Tag this flow run, and close the crashed runs of its store; returns how many there were.

    Called by a flow run that holds the store's lock. If it is not alone, no run is closed.
    """
    from prefect.client.orchestration import get_client

    this_run = _this_run()
    with get_client(sync_client=True) as client:
        try:
            tags = {*client.read_flow_run(this_run).tags, *tags_of(store)}
            client.update_flow_run(this_run, tags=tags)
            return _close(client, store, [this_run]) if alone else 0
        except Exception as error:  # a study runs without a dashboard, too
            logging.getLogger(__name__).debug("crashed runs are not closed: %s", error)
            return 0


def close_all_runs(store: Store) -> int:
    """Close the crashed runs of a finished store that has no driver."""
    from prefect.client.orchestration import get_client
    from prefect.settings import get_current_settings

    if get_current_settings().api.url is None:
        return 0
    try:
        with get_client(sync_client=True) as client:
            return _close(client, store, [])
    except Exception as error:
        logging.getLogger(__name__).debug("crashed runs are not closed: %s", error)
        return 0


def close_ended_tasks(seconds: float = SETTLE_SECONDS) -> int:
    """At the end of a flow run: close tasks that Prefect still shows as running; returns how many.

    The message that a task ended is lost if the server is killed. If a clock jumps, it may carry an
    earlier time than the messages before it.
    """
    from prefect.client.orchestration import get_client
    from prefect.settings import get_current_settings
    from prefect.states import Completed

    if get_current_settings().api.url is None:  # a temporary server, which ends with the run
        return 0
    this_run, deadline = _flow_runs(any_=[_this_run()]), time.monotonic() + seconds
    with get_client(sync_client=True) as client:
        try:
            while tasks := _unfinished_tasks(client, this_run):
                if time.monotonic() > deadline:
                    state: Any = Completed(message=END_NOT_RECEIVED)
                    for task in tasks:
                        client.set_task_run_state(task.id, state, force=True)
                    break
                time.sleep(0.5)
            return len(tasks)
        except Exception as error:
            logging.getLogger(__name__).debug("ended tasks are not closed: %s", error)
            return 0


def _this_run() -> UUID:
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise RuntimeError("not called by a flow run")
    return context.flow_run.id


def _close(client: Any, store: Store, except_for: list[UUID]) -> int:
    """Close the unfinished runs of a store, and their tasks; returns how many runs."""
    from prefect.client.schemas.filters import (
        FlowRunFilterState,
        FlowRunFilterStateType,
        FlowRunFilterTags,
    )
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    others = _flow_runs(not_any_=except_for)
    others.tags = FlowRunFilterTags(all_=tags_of(store))
    for task in _unfinished_tasks(client, others):
        client.set_task_run_state(task.id, Crashed(message=CRASHED), force=True)
    unfinished = FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.CANCELLING])
    others.state = FlowRunFilterState(type=unfinished)
    runs = _all(lambda **page: client.read_flow_runs(flow_run_filter=others, **page))
    for run in runs:
        client.set_flow_run_state(run.id, Crashed(message=CRASHED), force=True)
    return len(runs)


def _flow_runs(**ids: list[UUID]) -> Any:
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    return FlowRunFilter(id=FlowRunFilterId(**ids))


def _unfinished_tasks(client: Any, flow_runs: Any) -> list[Any]:
    from prefect.client.schemas.filters import (
        TaskRunFilter,
        TaskRunFilterState,
        TaskRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType

    types = [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]
    unfinished = TaskRunFilter(state=TaskRunFilterState(type=TaskRunFilterStateType(any_=types)))
    return _all(
        lambda **page: client.read_task_runs(
            flow_run_filter=flow_runs, task_run_filter=unfinished, **page
        )
    )


def _all(read: Callable[..., list[Any]]) -> list[Any]:
    """Read page after page."""
    rows: list[Any] = []
    while page := read(limit=PAGE_SIZE, offset=len(rows)):
        rows += page
    return rows
