"""What Prefect shows as Running and is not: runs of dead drivers, and tasks whose end it missed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

from infra.store import Store

ID_FILE = "id"
MOST = 200  # of what the API returns at once
REASON = "its driver ended without a word; the next run of its store goes on"
MISSED = "it had ended; what should have said so did not arrive"
SETTLE_SECONDS = 15.0  # more than Prefect takes to write down what it is told


def tags_of(store: Store) -> list[str]:
    """By which the runs of a store are found, on a server that several machines may use.

    Its place alone may be another store's on another machine, and the machine's name is no help: a
    container that is made anew has another. Its id alone may be that of a copy.
    """
    place = f"{store}" if "://" in store.uri else f"file://{store.root}"
    return [f"store:{place}", f"store-id:{_id_of(store)}"]


def _id_of(store: Store) -> str:
    with suppress(FileNotFoundError):
        return store.read_bytes(ID_FILE).decode()
    store.write_bytes(uuid4().hex.encode(), ID_FILE)
    return store.read_bytes(ID_FILE).decode()


def close_stale_runs(store: Store, alone: bool = True) -> int:
    """Close what other runs of this store left Running, and tag this one; how many runs there were.

    Called by a flow run that holds the store; beside another driver it is only tagged.
    """
    from prefect.client.orchestration import get_client

    mine = _this_run()
    with get_client(sync_client=True) as client:
        try:
            tags = {*client.read_flow_run(mine).tags, *tags_of(store)}
            client.update_flow_run(mine, tags=tags)
            return _close(client, store, [mine]) if alone else 0
        except Exception as error:  # a dashboard that is away stops no study
            logging.getLogger(__name__).debug("stale runs are not closed: %s", error)
            return 0


def close_runs_of_nobody(store: Store) -> int:
    """Close what is left Running of a finished store on which nobody works."""
    from prefect.client.orchestration import get_client
    from prefect.settings import get_current_settings

    if get_current_settings().api.url is None:
        return 0
    try:
        with get_client(sync_client=True) as client:
            return _close(client, store, [])
    except Exception as error:
        logging.getLogger(__name__).debug("stale runs are not closed: %s", error)
        return 0


def settle_tasks(seconds: float = SETTLE_SECONDS) -> int:
    """At the end of a flow run: close its tasks that Prefect still takes for running; how many.

    What tells Prefect of a task may be lost when its server is killed, or be dated before what was
    told earlier when a clock jumps.
    """
    from prefect.client.orchestration import get_client
    from prefect.settings import get_current_settings
    from prefect.states import Completed

    if get_current_settings().api.url is None:  # a temporary server, which nobody looks at later
        return 0
    mine, deadline = [_this_run()], time.monotonic() + seconds
    with get_client(sync_client=True) as client:
        try:
            while left := _tasks_under_way(client, _flow_runs(any_=mine)):
                if time.monotonic() > deadline:
                    for one in left:
                        client.set_task_run_state(one.id, Completed(message=MISSED), force=True)
                    break
                time.sleep(0.5)
            return len(left)
        except Exception as error:
            logging.getLogger(__name__).debug("tasks are not settled: %s", error)
            return 0


def _this_run() -> UUID:
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise RuntimeError("called by no flow run")
    return context.flow_run.id


def _close(client: Any, store: Store, mine: list[UUID]) -> int:
    from prefect.client.schemas.filters import (
        FlowRunFilterState,
        FlowRunFilterStateType,
        FlowRunFilterTags,
    )
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    others = _flow_runs(not_any_=mine)
    others.tags = FlowRunFilterTags(all_=tags_of(store))
    for one in _tasks_under_way(client, others):
        client.set_task_run_state(one.id, Crashed(message=REASON), force=True)
    under_way = FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.CANCELLING])
    others.state = FlowRunFilterState(type=under_way)
    found = _all(lambda **page: client.read_flow_runs(flow_run_filter=others, **page))
    for run in found:
        client.set_flow_run_state(run.id, Crashed(message=REASON), force=True)
    return len(found)


def _flow_runs(**which: list[UUID]) -> Any:
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    return FlowRunFilter(id=FlowRunFilterId(**which))


def _tasks_under_way(client: Any, flow_runs: Any) -> list[Any]:
    from prefect.client.schemas.filters import (
        TaskRunFilter,
        TaskRunFilterState,
        TaskRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType

    kinds = [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]
    wanted = TaskRunFilter(state=TaskRunFilterState(type=TaskRunFilterStateType(any_=kinds)))
    return _all(
        lambda **page: client.read_task_runs(
            flow_run_filter=flow_runs, task_run_filter=wanted, **page
        )
    )


def _all(read: Callable[..., list[Any]]) -> list[Any]:
    found: list[Any] = []
    while page := read(limit=MOST, offset=len(found)):
        found += page
    return found
