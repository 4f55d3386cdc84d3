"""Claims by drivers that are only names here: who gets what, and who may take it back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.drivers.claims import CLAIMS, forget, forget_all, give_back, take
from infra.drivers.lock import holding
from infra.store import Store


class Flags(Store):
    """A folder that is treated as an object store."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.local = False

    def _temporary(self, final: str) -> str:
        Path(final).parent.mkdir(parents=True, exist_ok=True)
        return final


@pytest.fixture(params=[Store, Flags])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    made: Store = request.param(tmp_path)
    return made


def alive(driver: str) -> bool:
    return False


def dead(driver: str) -> bool:
    return True


def both(action: Callable[[str], bool]) -> list[str]:
    """Who of two was told True, when both ask at once."""
    told: list[str] = []
    threads = [
        threading.Thread(target=lambda who=who: action(who) and told.append(who)) for who in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def test_one_has_it_until_it_is_given_back(store):
    assert take(store, "x", "a", alive) and take(store, "x", "a", alive)
    assert not take(store, "x", "b", alive) and take(store, "y", "b", alive)
    give_back(store, ["x"], "b")  # which never had it
    assert not take(store, "x", "b", alive)
    give_back(store, ["x"], "a")
    give_back(store, ["x"], "a")
    assert take(store, "x", "b", alive)


def test_a_dead_drivers_claim_is_taken_over_and_not_given_back_by_it(store):
    assert take(store, "x", "a", alive) and take(store, "x", "b", dead)
    give_back(store, ["x"], "a")
    assert not take(store, "x", "c", alive)
    give_back(store, ["x"], "b")
    for driver in "abc":
        forget(store, driver)
    assert store.names(CLAIMS) == []


def test_of_two_that_find_it_dead_at_once_one_takes_it_over(tmp_path):
    store = Store(tmp_path)
    for name in map(str, range(20)):
        assert take(store, name, "gone", alive)
        together = threading.Barrier(2)

        def found_dead(driver: str, together: threading.Barrier = together) -> bool:
            together.wait()
            return driver == "gone"

        told = both(lambda who, name=name, found=found_dead: take(store, name, who, found))
        assert len(told) == 1
        assert not take(store, name, "c", alive)


def test_all_are_forgotten(store):
    for name in "xyz":
        take(store, name, "a", alive)
    forget_all(store)
    assert store.names(CLAIMS) == [] and take(store, "x", "b", alive)


def test_a_driver_that_was_forgotten_may_claim_again_and_keeps_what_it_has(store):
    assert take(store, "x", "a", alive)
    forget(store, "a")
    assert not take(store, "x", "b", alive) and take(store, "y", "a", alive)
    give_back(store, ["x", "y"], "a")
    assert take(store, "x", "b", alive) and take(store, "y", "b", alive)


def test_an_empty_claim_is_one_whose_writer_died(tmp_path):
    store = Store(tmp_path)
    store.write_bytes(b"", CLAIMS, "x")
    assert take(store, "x", "a", alive)


def test_a_flag_that_could_not_be_judged_is_taken_down_with_the_next(tmp_path, monkeypatch):
    """An object store that answers the writing, and not the listing."""
    flags = Flags(tmp_path)

    def slow_down(*_):
        raise OSError("AWS Error SLOW_DOWN")

    with holding(flags, beat_seconds=60, say=lambda text: None) as holder:
        with monkeypatch.context() as broken:
            broken.setattr(Flags, "names", slow_down)
            with pytest.raises(OSError, match="SLOW_DOWN"):
                holder.claim("x")
        assert not take(flags, "x", "other", alive)
        assert holder.claim("y")
        holder.release("y")
        assert take(flags, "x", "other", alive)
