"""Ray workers: calls are submitted in order of priority and rank, few more than can start.

Ray chooses freely among the calls of different functions that wait in it. So that urgent calls do
not wait behind others there, no more calls are submitted than can run at once, and of short calls
some more, which take half a second together: they follow each other without a pause. A cluster gets
one more per core, as it grows only if calls wait.
"""

from __future__ import annotations

import heapq
import logging
import os
import queue
import signal
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from infra.errors import RAY_CLUSTER, RUN_AGAIN, WrongInput
from infra.ray_cluster import check_address, cluster_machines
from infra.runtime import ASKED_ONCE, BLAS_KERNELS, LOOPBACK_ONLY, WORKER, cores
from infra.timeline import span, with_spans, without_spans

OBJECT_STORE_BYTES = 150 * 2**20  # enough: calls pass ids and paths, never arrays
AHEAD_SECONDS = 0.5  # of work that may wait in Ray for each core
MOST_AHEAD = 3  # calls for each core; thousands of pending calls slow a Ray driver down
RECENT = 0.2  # the weight of the newest call in the mean duration of its kind
POLL_SECONDS = 0.2
RETRY_SECONDS = 2.0
CLUSTER_SIZE_SECONDS = 30.0
CLUSTER_CHECK_SECONDS = 5.0
FAILED_CHECKS = 3  # so many in a row, and the cluster is given up
JOIN_SECONDS = 5.0

Rank = tuple[int, ...]
Call = tuple[Any, ...]


class Stopped(Exception):
    """The run was stopped; what is done is in the store."""


class Decision(Enum):
    """Whether to run a call when its turn comes."""

    NOW = 1
    LATER = 2  # another driver does it at the moment


@dataclass(frozen=True)
class Resources:
    """What one call needs of a machine, and how often it is tried if its worker dies."""

    cpus: float = 1.0
    gpus: float = 0.0
    memory_gib: float | None = None
    tries: int = 4

    def options(self, has_gpus: bool) -> dict[str, Any]:
        """For Ray. Without GPUs, a call that needs one runs on the CPU."""
        options: dict[str, Any] = {"num_cpus": self.cpus, "max_retries": 0}  # we retry ourselves
        options["num_gpus"] = self.gpus if has_gpus else 0
        if self.memory_gib is not None:
            options["memory"] = int(self.memory_gib * 2**30)
        return options


Kind = tuple[Callable[..., Any], Resources]


def run_now(*call: Any) -> Decision:
    return Decision.NOW


@dataclass(eq=False)
class CallQueue:
    """Calls of one function; more may be added while results are read, until `end`.

    Iterating yields (call, result) in the order in which calls end; a result is an exception if the
    call raised or its worker died at each try. `decide` is called with a call's arguments when its
    turn comes; if it returns no Decision, what it returns is the result of the call.
    """

    workers: Workers
    kind: Kind
    decide: Callable[..., Any] = run_now
    priority: int = 0  # calls of a lower number are submitted first
    _results: queue.SimpleQueue[tuple[Call | None, Any]] = field(default_factory=queue.SimpleQueue)
    _added: int = 0

    def add(self, call: Call, rank: Rank = ()) -> None:
        """Add a call; of those that wait with this priority, that of the lowest rank is next."""
        self._added += 1
        self.workers.enqueue(self, call, (self.priority, *rank))

    def end(self) -> None:
        """No call will be added any more."""
        self.put_result(None, None)

    def put_result(self, call: Call | None, result: Any) -> None:
        self._results.put((call, result))

    def __iter__(self) -> Iterator[tuple[Call, Any]]:
        read, ended = 0, False
        while not ended or read < self._added:
            call, result = self._results.get()
            if call is not None:
                read += 1
                yield call, result
            elif result is not None:
                raise result
            else:
                ended = True


@dataclass(order=True)
class _Waiting:
    rank: Rank
    number: int
    call: Call = field(compare=False)
    queue: CallQueue = field(compare=False)
    tries: int = field(default=0, compare=False)
    submitted_at: float = field(default=0.0, compare=False)


class Workers:
    """Submits the calls of all threads to Ray, from one thread."""

    def __init__(
        self,
        count: int,
        gpus: float = 0.0,
        cluster: str = "",
        machines: Sequence[Mapping[str, float]] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.count, self.gpus, self.cluster = count, gpus, cluster  # its address, if not our own
        self.machines = machines  # the resources of each, as Ray lists them
        self._now = now
        self._stopping = False  # no Event: a signal may come while the main thread holds its lock
        self._error: BaseException | None = None  # why no more calls are submitted
        self._counted_at = now()
        self._waiting: dict[Kind, list[_Waiting]] = {}
        self._delayed: list[tuple[float, _Waiting]] = []
        self._submitted: dict[Any, _Waiting] = {}
        self._in_flight: Counter[Kind] = Counter()
        self._seconds: dict[Kind, float] = {}  # mean duration of recent calls
        self._remote: dict[tuple[Kind, bool], Any] = {}
        self._queues: weakref.WeakSet[CallQueue] = weakref.WeakSet()
        self._number = 0
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="submits calls", daemon=True)
        self._thread.start()
        if cluster:
            watch = threading.Thread(target=self._watch_cluster, name="watches Ray", daemon=True)
            watch.start()

    def calls(
        self,
        function: Callable[..., Any],
        resources: Resources = Resources(),
        decide: Callable[..., Any] = run_now,
        priority: int = 0,
    ) -> CallQueue:
        calls = CallQueue(self, (function, resources), decide, priority)
        with self._changed:
            self._queues.add(calls)
            if self._error:
                calls.put_result(None, self._error)
        return calls

    def missing(self, resources: Resources) -> tuple[str, float, float] | None:
        """A resource that no machine has, even if idle: its name, how much is needed and available.

        Ray would wait for such a machine without end and without a message.
        """
        needed = {"cpus": resources.cpus, "memory": resources.memory_gib or 0.0}
        needed["gpus"] = resources.gpus if self.gpus else 0.0
        machines = [
            {
                "cpus": machine.get("CPU", 0.0),
                "gpus": machine.get("GPU", 0.0),
                "memory": machine.get("memory", 0.0) / 2**30,
            }
            for machine in self.machines
        ]
        for name, wanted in needed.items():
            enough = [machine for machine in machines if machine[name] >= wanted]
            if machines and not enough:  # of those that have all the others
                return name, wanted, max(machine[name] for machine in machines)
            machines = enough
        return None

    def mean_seconds(self, function: Callable[..., Any]) -> float | None:
        """How long recent calls of a function took; None before the first has ended."""
        of_kinds = [s for (called, _), s in list(self._seconds.items()) if called is function]
        return sum(of_kinds) / len(of_kinds) if of_kinds else None

    def map(
        self,
        function: Callable[..., Any],
        calls: Iterable[Call],
        resources: Resources = Resources(),
    ) -> Iterator[tuple[Call, Any]]:
        """(call, result) of these calls, in the order in which they end."""
        added = self.calls(function, resources)
        for call in calls:
            added.add(call)
        added.end()
        return iter(added)

    def enqueue(self, calls: CallQueue, call: Call, rank: Rank) -> None:
        with self._changed:
            self._number += 1
            self._wait(_Waiting(rank, self._number, call, calls))
            self._changed.notify()

    def _wait(self, waiting: _Waiting) -> None:
        heapq.heappush(self._waiting.setdefault(waiting.queue.kind, []), waiting)

    @property
    def stopping(self) -> bool:
        return self._stopping

    def stop(self) -> None:
        """Submit nothing more; threads that wait for results get Stopped within a moment."""
        self._stopping = True

    def close(self) -> None:
        self.stop()
        self._thread.join(JOIN_SECONDS)  # no longer: a call of Ray may hang

    def _run(self) -> None:
        error: BaseException = Stopped()
        try:
            while not self._stopping:
                self._update_cluster_size()
                self._submit()
                self._collect()
        except BaseException as raised:  # for example, the cluster does not exist any more
            error = raised
        self._fail_all(error)

    def _fail_all(self, error: BaseException) -> None:
        """Raise an error in all threads that wait for results; only the first error counts."""
        with self._changed:
            if self._error is None:
                self._error = error
                for calls in self._queues:
                    calls.put_result(None, error)

    def _watch_cluster(self) -> None:
        """Give the cluster up if it does not answer; Ray would hang, then end this process."""
        failed = 0
        while not self._stopping and failed < FAILED_CHECKS:
            time.sleep(CLUSTER_CHECK_SECONDS)
            try:
                check_address(self.cluster)
                failed = 0
            except WrongInput:
                failed += 1
        if failed == FAILED_CHECKS:
            description = f"{self.cluster}, which does not answer any more"
            self._fail_all(WrongInput("--ray", description, f"{RAY_CLUSTER}. {RUN_AGAIN}"))
            self.stop()

    def _update_cluster_size(self) -> None:
        """A cluster may grow or shrink, and grows only if enough calls wait."""
        due = self._now() - self._counted_at > CLUSTER_SIZE_SECONDS
        if self.cluster and due:
            import ray

            resources = ray.cluster_resources()
            self.count = max(self.count, int(resources.get("CPU", 1)))
            self.gpus = max(self.gpus, resources.get("GPU", 0.0))
            self._counted_at = self._now()

    def _submit(self) -> None:
        now = self._now()
        due = [delayed for at, delayed in self._delayed if at <= now]
        self._delayed = [pair for pair in self._delayed if pair[0] > now]
        with self._changed:
            for delayed in due:
                self._wait(delayed)
        while (waiting := self._next()) is not None:
            kind, call = waiting.queue.kind, waiting.call
            decision = waiting.queue.decide(*call)
            if decision is Decision.NOW:
                waiting.submitted_at = self._now()
                self._submitted[self._remote_function(kind).remote(*call)] = waiting
                self._in_flight[kind] += 1
            elif decision is Decision.LATER:
                self._delay(waiting)
            else:
                waiting.queue.put_result(call, decision)

    def _delay(self, waiting: _Waiting) -> None:
        self._delayed.append((self._now() + RETRY_SECONDS, waiting))

    def _next(self) -> _Waiting | None:
        """The most urgent call for which there is room."""
        with self._changed:
            first = [waiting[0] for waiting in self._waiting.values() if waiting]
            for waiting in sorted(first):
                if self._has_room(waiting):
                    return heapq.heappop(self._waiting[waiting.queue.kind])
        return None

    def _has_room(self, waiting: _Waiting) -> bool:
        kind, resources = waiting.queue.kind, waiting.queue.kind[1]
        ahead = self._ahead(waiting) * self.count
        at_once = self.count / resources.cpus
        if self.gpus and resources.gpus:
            at_once = min(at_once, self.gpus / resources.gpus)
        cpus = sum(count * of_kind.cpus for (_, of_kind), count in self._in_flight.items())
        return (
            self._in_flight[kind] < max(1, int(at_once)) + ahead
            and cpus + resources.cpus <= max(self.count, resources.cpus) + ahead
        )

    def _ahead(self, waiting: _Waiting) -> int:
        """How many calls may wait in Ray for each core; none while a more urgent call is there."""
        priority = waiting.queue.priority
        if any(other.queue.priority < priority for other in self._submitted.values()):
            return 0
        seconds = self._seconds.get(waiting.queue.kind)
        ahead = 0 if seconds is None else min(MOST_AHEAD, int(AHEAD_SECONDS / max(seconds, 1e-3)))
        return max(ahead, 1) if self.cluster else ahead

    def _collect(self) -> None:
        if not self._submitted:
            with self._changed:
                self._changed.wait(POLL_SECONDS)
            return
        import ray

        ready, _ = ray.wait(list(self._submitted), num_returns=1, timeout=POLL_SECONDS)
        for reference in ready:
            waiting = self._submitted.pop(reference)
            kind = waiting.queue.kind
            self._in_flight[kind] -= 1
            took = self._now() - waiting.submitted_at
            self._seconds[kind] = (1 - RECENT) * self._seconds.get(kind, took) + RECENT * took
            waiting.tries += 1
            result = without_spans(_result(reference))
            if worker_died(result) and waiting.tries < kind[1].tries:
                self._delay(waiting)
            else:
                waiting.queue.put_result(waiting.call, result)

    def _remote_function(self, kind: Kind) -> Any:
        """The same for all calls: with a new one for each, Ray's queue takes superlinear time."""
        import ray

        has_gpus = self.gpus > 0  # a GPU may be added later
        if (kind, has_gpus) not in self._remote:
            function, resources = kind
            remote = ray.remote(**resources.options(has_gpus))
            self._remote[kind, has_gpus] = remote(with_spans(function))
        return self._remote[kind, has_gpus]


def _result(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        return error


def worker_died(result: object) -> bool:
    """Whether the worker or the machine of a call died.

    Ray's own retries use timers that stop for an hour when the clock is set back by one, and count
    calls that ran out of memory separately.
    """
    import ray

    if isinstance(result, ray.exceptions.RayTaskError):  # the call itself raised it
        return False
    return isinstance(result, ray.exceptions.RayError)


@contextmanager
def stopped_by_signals(workers: Workers) -> Iterator[None]:
    """Stop the workers at once at Ctrl-C or SIGTERM, whatever the main thread is doing.

    Python raises KeyboardInterrupt in the main thread, where a library may catch or lose it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {n: handler for n, handler in handlers.items() if handler != signal.SIG_IGN}

    def stop(number: int, frame: Any) -> None:
        workers.stop()
        handler = handlers[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        elif handler == signal.SIG_DFL:
            raise KeyboardInterrupt

    for number in handlers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def running_workers(address: str | None = None, count: int | None = None) -> Iterator[Workers]:
    """Workers on a cluster, or on a local Ray that ends with this process."""
    os.environ.setdefault(*(ASKED_ONCE if address else LOOPBACK_ONLY))
    if address:
        cluster_machines(address)  # or it raises at once
    with span("imports: Ray"):
        import ray

    environment = {"env_vars": WORKER}
    if address:  # its machines may have other processors than this one
        environment = {"env_vars": {n: v for n, v in WORKER.items() if n != BLAS_KERNELS}}
        try:
            with span("Ray connects"):
                ray.init(
                    address,
                    runtime_env=environment,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
        except (ConnectionError, RuntimeError) as error:  # RuntimeError: this is not a node of it
            accepted = (
                "a running Ray cluster of which this machine is a node (ray start --address), "
                "with RAY_AUTH_MODE=token if it uses tokens"
            )
            raise WrongInput("--ray", f"{address} ({error})", accepted) from None
        address = ray.get_runtime_context().gcs_address  # which "auto" does not contain
        count = max(1, int(ray.cluster_resources().get("CPU", 1)))
    else:
        count = count or cores()
        with span("Ray starts"):
            ray.init(
                "local",
                num_cpus=count,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                runtime_env=environment,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    try:
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        gpus = ray.cluster_resources().get("GPU", 0.0)
        workers = Workers(count, gpus, address or "", machines)
        try:
            yield workers
        finally:
            workers.close()
    finally:
        with span("Ray ends"):
            ray.shutdown()
