"""Claims by drivers that are only names here: who gets which claim, and who may release it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.drivers.claims import CLAIMS, release, remove_all, remove_driver, take
from infra.drivers.lock import driver_lock
from infra.store import Store
from tests.infra.drivers.test_lock import AsObjectStore


@pytest.fixture(params=[Store, AsObjectStore])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    made: Store = request.param(tmp_path)
    return made


def alive(driver: str) -> bool:
    return False


def dead(driver: str) -> bool:
    return True


def winners_of_two(action: Callable[[str], bool]) -> list[str]:
    """Which of two calls returned True, when both run at once."""
    winners: list[str] = []
    threads = [
        threading.Thread(target=lambda who=who: action(who) and winners.append(who)) for who in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return winners


def test_a_claim_belongs_to_one_driver_until_it_is_released(store):
    assert take(store, "x", "a", alive) and take(store, "x", "a", alive)
    assert not take(store, "x", "b", alive) and take(store, "y", "b", alive)
    release(store, ["x"], "b")  # which never had it
    assert not take(store, "x", "b", alive)
    release(store, ["x"], "a")
    release(store, ["x"], "a")
    assert take(store, "x", "b", alive)


def test_a_dead_drivers_claim_is_taken_over_and_not_released_by_it(store):
    assert take(store, "x", "a", alive) and take(store, "x", "b", dead)
    release(store, ["x"], "a")
    assert not take(store, "x", "c", alive)
    release(store, ["x"], "b")
    for driver in "abc":
        remove_driver(store, driver)
    assert store.names(CLAIMS) == []


def test_of_two_drivers_that_find_a_claims_owner_dead_one_takes_it_over(tmp_path):
    store = Store(tmp_path)
    for name in map(str, range(20)):
        assert take(store, name, "gone", alive)
        together = threading.Barrier(2)

        def found_dead(driver: str, together: threading.Barrier = together) -> bool:
            together.wait()
            return driver == "gone"

        winners = winners_of_two(
            lambda who, name=name, found=found_dead: take(store, name, who, found)
        )
        assert len(winners) == 1
        assert not take(store, name, "c", alive)


def test_all_claims_of_a_driver_are_removed(store):
    for name in "xyz":
        take(store, name, "a", alive)
    remove_all(store)
    assert store.names(CLAIMS) == [] and take(store, "x", "b", alive)


def test_a_driver_that_was_removed_may_claim_again_and_keeps_what_it_has(store):
    assert take(store, "x", "a", alive)
    remove_driver(store, "a")
    assert not take(store, "x", "b", alive) and take(store, "y", "a", alive)
    release(store, ["x", "y"], "a")
    assert take(store, "x", "b", alive) and take(store, "y", "b", alive)


def test_an_empty_claim_is_one_whose_writer_died(tmp_path):
    store = Store(tmp_path)
    store.write_bytes(b"", CLAIMS, "x")
    assert take(store, "x", "a", alive)


def test_a_claim_that_failed_half_way_is_released_with_the_next(tmp_path, monkeypatch):
    """The object store answers the request to write, and not the request to list."""
    store = AsObjectStore(tmp_path)

    def slow_down(*_):
        raise OSError("AWS Error SLOW_DOWN")

    with driver_lock(store, sleep=lambda _: None) as lock:
        with monkeypatch.context() as broken:
            broken.setattr(AsObjectStore, "names", slow_down)
            with pytest.raises(OSError, match="SLOW_DOWN"):
                lock.claim("x")
        assert not take(store, "x", "other", alive)
        assert lock.claim("y")
        lock.release("y")
        assert take(store, "x", "other", alive)
