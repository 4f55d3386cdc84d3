"""Runs that a dead driver left Running: closed when the next run of their store starts."""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable
from typing import Any
from uuid import UUID

from infra.store import Store

MOST = 200  # of what the API returns at once
REASON = "its driver ended without a word; the next run of its store goes on"


def tag(store_uri: str) -> str:
    """By which the runs of a store are found, on a server that several machines may use."""
    store = Store(store_uri)
    if "://" in store_uri:
        return f"store:{store}"
    return f"store:file://{platform.node()}{store.root}"


def close_stale_runs(store_uri: str, alone: bool = True) -> int:
    """Close what other runs of this store left Running, and tag this one; how many runs there were.

    Called by a flow run that holds the store; beside another driver it is only tagged.
    """
    from prefect.client.orchestration import get_client
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise RuntimeError("called by no flow run")
    mine = context.flow_run.id
    with get_client(sync_client=True) as client:
        try:
            tags = {*client.read_flow_run(mine).tags, tag(store_uri)}
            client.update_flow_run(mine, tags=tags)
            return _close(client, store_uri, mine) if alone else 0
        except Exception as error:  # a dashboard that is away stops no study
            logging.getLogger(__name__).debug("stale runs are not closed: %s", error)
            return 0


def _close(client: Any, store_uri: str, mine: UUID) -> int:
    from prefect.client.schemas.filters import (
        FlowRunFilter,
        FlowRunFilterId,
        FlowRunFilterState,
        FlowRunFilterStateType,
        FlowRunFilterTags,
        TaskRunFilter,
        TaskRunFilterState,
        TaskRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    under_way = [StateType.RUNNING, StateType.CANCELLING]
    runs = FlowRunFilter(
        id=FlowRunFilterId(not_any_=[mine]),
        tags=FlowRunFilterTags(all_=[tag(store_uri)]),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=under_way)),
    )
    tasks = TaskRunFilter(
        state=TaskRunFilterState(type=TaskRunFilterStateType(any_=[*under_way, StateType.PENDING]))
    )
    found = _all(lambda **page: client.read_flow_runs(flow_run_filter=runs, **page))
    for run in found:
        of_run = FlowRunFilter(id=FlowRunFilterId(any_=[run.id]))
        left = _all(
            lambda of_run=of_run, **page: client.read_task_runs(
                flow_run_filter=of_run, task_run_filter=tasks, **page
            )
        )
        for one in left:
            client.set_task_run_state(one.id, Crashed(message=REASON), force=True)
        client.set_flow_run_state(run.id, Crashed(message=REASON), force=True)
    return len(found)


def _all(read: Callable[..., list[Any]]) -> list[Any]:
    found: list[Any] = []
    while page := read(limit=MOST, offset=len(found)):
        found += page
    return found
