"""Ray workers: calls are handed out in order of rank, a bounded number of each kind at a time."""

from __future__ import annotations

import heapq
import logging
import os
import queue
import signal
import socket
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from infra.errors import RUN_AGAIN, WrongInput
from infra.runtime import ASKED_ONCE, BLAS_KERNELS, LOOPBACK_ONLY, WORKER, cores

OBJECT_STORE_BYTES = 150 * 2**20  # arrays never travel through Ray: ids and paths do
PER_CORE = 4  # calls of a kind in flight; thousands of pending ones are known to stall a driver
POLL_SECONDS = 0.2
LATER_SECONDS = 2.0
COUNT_SECONDS = 30.0
LOOK_SECONDS = 5.0
JOIN_SECONDS = 5.0
LOOKS = 3  # at a cluster that does not answer, before it is given up

Rank = tuple[int, ...]
Call = tuple[Any, ...]


class Stopped(Exception):
    """The run was told to stop; what is finished stands in the store."""


class Before(Enum):
    """What may be said of a call when its turn comes; any other answer is its result."""

    GO = 1
    LATER = 2  # somebody else does it at the moment


@dataclass(frozen=True)
class Need:
    """What one call is given of a machine, and how often it is tried if its worker dies."""

    cpus: float = 1.0
    gpus: float = 0.0
    memory_gib: float | None = None
    tries: int = 4

    def options(self, gpus_there: bool) -> dict[str, Any]:
        """For Ray. Where there is no GPU, what wants one runs on the CPU."""
        wanted: dict[str, Any] = {"num_cpus": self.cpus, "max_retries": 0}  # we try again ourselves
        wanted["num_gpus"] = self.gpus if gpus_there else 0
        if self.memory_gib is not None:
            wanted["memory"] = int(self.memory_gib * 2**30)
        return wanted


Kind = tuple[Callable[..., Any], Need]


@dataclass(eq=False)
class Calls:
    """Calls of one function; more may be added while results are read, until `end`.

    Iterating yields (call, result) as calls end, in whatever order they do; a result is an
    exception if the call raised or its worker was lost for good. `before` is asked of each call
    when its turn comes.
    """

    workers: Workers
    kind: Kind
    before: Callable[..., Any] = lambda *call: Before.GO
    _results: queue.SimpleQueue[tuple[Call | None, Any]] = field(default_factory=queue.SimpleQueue)
    _added: int = 0

    def add(self, call: Call, rank: Rank = ()) -> None:
        """Have a call made; of those that wait, the one of the lowest rank is next."""
        self._added += 1
        self.workers.enqueue(self, call, rank)

    def end(self) -> None:
        """Nothing will be added any more."""
        self.give(None, None)

    def give(self, call: Call | None, result: Any) -> None:
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
    of: Calls = field(compare=False)
    tried: int = field(default=0, compare=False)


class Workers:
    """Hands calls to Ray, from one thread whoever asks for them."""

    def __init__(
        self,
        count: int,
        gpus: float = 0.0,
        cluster: str = "",
        machines: Sequence[Mapping[str, float]] = (),
    ) -> None:
        self.count, self.gpus, self.cluster = count, gpus, cluster  # its address, if not our own
        self.machines = machines  # what Ray says each of them has
        self._stopping = False  # no Event: a signal may come while the main thread holds its lock
        self._ended: BaseException | None = None
        self._counted_at = time.monotonic()
        self._waiting: dict[Kind, list[_Waiting]] = {}
        self._later: list[tuple[float, _Waiting]] = []
        self._flying: dict[Any, _Waiting] = {}
        self._in_flight: Counter[Kind] = Counter()
        self._remote: dict[tuple[Kind, bool], Any] = {}
        self._calls: weakref.WeakSet[Calls] = weakref.WeakSet()
        self._number = 0
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="hands out", daemon=True)
        self._thread.start()
        if cluster:
            threading.Thread(target=self._look, name="looks", daemon=True).start()

    def calls(
        self,
        function: Callable[..., Any],
        need: Need = Need(),
        before: Callable[..., Any] = lambda *call: Before.GO,
    ) -> Calls:
        calls = Calls(self, (function, need), before)
        with self._changed:
            self._calls.add(calls)
            if self._ended:
                calls.give(None, self._ended)
        return calls

    def beyond(self, need: Need) -> tuple[str, float, float] | None:
        """What of a need no machine has, were it idle: its name, how much it is, how much there is.

        Ray would wait for such a machine for ever, and say nothing.
        """
        wanted = {"cpus": need.cpus, "memory": need.memory_gib or 0.0}
        wanted["gpus"] = need.gpus if self.gpus else 0.0
        short = None
        for one in self.machines:
            has = {"cpus": one.get("CPU", 0.0), "gpus": one.get("GPU", 0.0)}
            has["memory"] = one.get("memory", 0.0) / 2**30
            short = next(((n, w, has[n]) for n, w in wanted.items() if w > has[n]), None)
            if short is None:
                break
        return short

    def map(
        self, function: Callable[..., Any], calls: Iterable[Call], need: Need = Need()
    ) -> Iterator[tuple[Call, Any]]:
        """(call, result) of calls that are known beforehand, as they end."""
        made = self.calls(function, need)
        for call in calls:
            made.add(call)
        made.end()
        return iter(made)

    def enqueue(self, of: Calls, call: Call, rank: Rank) -> None:
        with self._changed:
            self._number += 1
            self._queue(_Waiting(rank, self._number, call, of))
            self._changed.notify()

    def _queue(self, one: _Waiting) -> None:
        heapq.heappush(self._waiting.setdefault(one.of.kind, []), one)

    @property
    def stopping(self) -> bool:
        return self._stopping

    def stop(self) -> None:
        """Hand out nothing more; whoever waits for results is told within a moment."""
        self._stopping = True

    def close(self) -> None:
        self.stop()
        self._thread.join(JOIN_SECONDS)  # no longer: a call of Ray may hang

    def _run(self) -> None:
        ended: BaseException = Stopped()
        try:
            while not self._stopping:
                self._count_again()
                self._hand_out()
                self._collect()
        except BaseException as error:  # the cluster is gone, say: whoever waits must know
            ended = error
        self._tell(ended)

    def _tell(self, ended: BaseException) -> None:
        """Whoever waits is told why there is nothing more to wait for, once."""
        with self._changed:
            if self._ended is None:
                self._ended = ended
                for calls in self._calls:
                    calls.give(None, ended)

    def _look(self) -> None:
        """See that the cluster is there: calls of Ray's hang for a minute, then Ray ends us."""
        unanswered = 0
        while not self._stopping and unanswered < LOOKS:
            time.sleep(LOOK_SECONDS)
            try:
                check_address(self.cluster)
                unanswered = 0
            except WrongInput:
                unanswered += 1
        if unanswered == LOOKS:
            found = f"{self.cluster}, which does not answer any more"
            accepted = f"a running Ray cluster. {RUN_AGAIN}"
            self._tell(WrongInput("--ray", found, accepted))
            self.stop()

    def _count_again(self) -> None:
        """A cluster may grow or shrink, and grows only if enough calls wait."""
        due = time.monotonic() - self._counted_at > COUNT_SECONDS
        if self.cluster and due:
            import ray

            there = ray.cluster_resources()
            self.count = max(self.count, int(there.get("CPU", 1)))
            self.gpus = max(self.gpus, there.get("GPU", 0.0))
            self._counted_at = time.monotonic()

    def _hand_out(self) -> None:
        now = time.monotonic()
        due = [waiting for at, waiting in self._later if at <= now]
        self._later = [pair for pair in self._later if pair[0] > now]
        with self._changed:
            for waiting in due:
                self._queue(waiting)
        while (one := self._next()) is not None:
            answer = one.of.before(*one.call)
            if answer is Before.GO:
                self._flying[self._reused(one.of.kind).remote(*one.call)] = one
                self._in_flight[one.of.kind] += 1
            elif answer is Before.LATER:
                self._later.append((time.monotonic() + LATER_SECONDS, one))
            else:
                one.of.give(one.call, answer)

    def _next(self) -> _Waiting | None:
        """What is next of a kind that has room in flight."""
        with self._changed:
            for kind, waiting in self._waiting.items():
                if waiting and self._in_flight[kind] < PER_CORE * self.count:
                    return heapq.heappop(waiting)
        return None

    def _collect(self) -> None:
        if not self._flying:
            with self._changed:
                self._changed.wait(POLL_SECONDS)
            return
        import ray

        ready, _ = ray.wait(list(self._flying), num_returns=1, timeout=POLL_SECONDS)
        for reference in ready:
            one = self._flying.pop(reference)
            self._in_flight[one.of.kind] -= 1
            one.tried += 1
            outcome = _outcome(reference)
            if _is_lost(outcome) and one.tried < one.of.kind[1].tries:
                self._later.append((time.monotonic() + LATER_SECONDS, one))
            else:
                one.of.give(one.call, outcome)

    def _reused(self, kind: Kind) -> Any:
        """One remote function for all calls: a fresh one each time makes the queue superlinear."""
        import ray

        gpus_there = self.gpus > 0  # which may come later
        if (kind, gpus_there) not in self._remote:
            function, need = kind
            self._remote[kind, gpus_there] = ray.remote(**need.options(gpus_there))(function)
        return self._remote[kind, gpus_there]


def _outcome(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        return error


def _is_lost(outcome: object) -> bool:
    """Whether its worker or its machine ended under a call.

    Ray itself tries such calls again by timers that stand still for an hour when the clock is set
    back by one, and counts those apart that run out of memory.
    """
    import ray

    if isinstance(outcome, ray.exceptions.RayTaskError):  # what the call itself raised
        return False
    return isinstance(outcome, ray.exceptions.RayError)


@contextmanager
def stopped_by_signals(workers: Workers) -> Iterator[None]:
    """Have the workers stop at once at Ctrl-C or SIGTERM, whatever the main thread does then.

    Python raises an exception in the middle of it, where a library may catch or lose it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: found for number, found in before.items() if found != signal.SIG_IGN}

    def stop(number: int, frame: Any) -> None:
        workers.stop()
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        elif handler == signal.SIG_DFL:
            raise KeyboardInterrupt

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_address(address: str) -> None:
    """Raise if nobody listens at host:port; Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in address:
        return  # "auto", or a scheme of Ray's: Ray knows what to make of it
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise WrongInput("--ray", f"{address} ({error})", "a Ray cluster that runs") from None


@contextmanager
def running_workers(address: str | None = None, count: int | None = None) -> Iterator[Workers]:
    """Workers on a cluster, or on a Ray of this process's own that ends with it."""
    os.environ.setdefault(*(ASKED_ONCE if address else LOOPBACK_ONLY))
    import ray

    environment = {"env_vars": WORKER}
    if address:  # of machines that need not be like this one
        environment = {"env_vars": {n: v for n, v in WORKER.items() if n != BLAS_KERNELS}}
        try:
            ray.init(
                address, runtime_env=environment, log_to_driver=False, logging_level=logging.ERROR
            )
        except (ConnectionError, RuntimeError) as error:  # the second if this is no node of it
            accepted = (
                "a running Ray cluster of which this machine is a node (ray start --address), "
                "with RAY_AUTH_MODE=token if it uses tokens"
            )
            raise WrongInput("--ray", f"{address} ({error})", accepted) from None
        address = ray.get_runtime_context().gcs_address  # "auto" says nothing of where it is
        count = max(1, int(ray.cluster_resources().get("CPU", 1)))
    else:
        count = count or cores()
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
        ray.shutdown()
