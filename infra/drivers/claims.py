"""Which driver does what: a file per claim, `<store>/claims/NAME`, that names its driver.

A file system gives a name to one of several writers only. Each driver has one file, `by-DRIVER`,
and its claims are more names of that: nothing is written for one. An object store has no second
names, and creates a file for many at once (as far as pyarrow can ask for it), so there a claim is a
flag of one's own, `NAME@DRIVER`: it is raised, then others are looked for, and whoever sees
another's flag beside the own one takes the own one down. Of two that raise theirs at once at least
one sees the other's; if both do, both come back later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from infra.store import Store

CLAIMS = "claims"
LOCK = (CLAIMS, ".lock")


def take(store: Store, name: str, driver: str, is_dead: Callable[[str], bool]) -> bool:
    """Whether the driver has the claim now; that of a dead driver is taken over."""
    if not store.local:
        return _raise_flag(store, name, driver, is_dead)
    if _named(store, name, driver):
        return True
    owner = _owner(store, name)
    if owner == driver or owner is None:  # it was given back this moment
        return owner == driver
    if owner and not is_dead(owner):
        return False
    with store.locked(*LOCK):  # several may have found it dead, or its writer ended before it wrote
        if _owner(store, name) != owner:
            return False
        store.write_bytes(driver.encode(), CLAIMS, name)
        return True


def give_back(store: Store, names: Iterable[str], driver: str) -> None:
    if not store.local:
        for name in names:
            store.remove(CLAIMS, f"{name}@{driver}")
        return
    with store.locked(*LOCK):
        for name in names:
            if _owner(store, name) == driver:  # nobody took it over, thinking the driver dead
                store.remove(CLAIMS, name)


def forget(store: Store, driver: str) -> None:
    """For a driver that is gone; what it had not given back is taken over by who wants it."""
    if store.local:
        store.remove(CLAIMS, _mark(driver))


def forget_all(store: Store) -> None:
    """For a driver that is alone: whatever stands was left by dead ones."""
    for name in store.names(CLAIMS):
        store.remove(CLAIMS, name)


def _mark(driver: str) -> str:
    return f"by-{driver}"


def _named(store: Store, name: str, driver: str) -> bool:
    """Whether the name was free, and is this driver's now."""
    mark, claim = (CLAIMS, _mark(driver)), (CLAIMS, name)
    try:
        return store.link_exclusively(mark, claim, LOCK)
    except FileNotFoundError:
        store.write_bytes(driver.encode(), *mark)
        return store.link_exclusively(mark, claim, LOCK)


def _owner(store: Store, name: str) -> str | None:
    with suppress(FileNotFoundError):
        return store.read_bytes(CLAIMS, name).decode(errors="replace")
    return None


def _raise_flag(store: Store, name: str, driver: str, is_dead: Callable[[str], bool]) -> bool:
    """Where this raises, the flag may stand: whoever asked must give it back."""
    mine = f"{name}@{driver}"
    store.write_bytes(b"", CLAIMS, mine)
    flags = [flag for flag in store.names(CLAIMS) if flag.rpartition("@")[0] == name]
    others = [flag for flag in flags if flag != mine]
    for flag in others:
        if not is_dead(flag.rpartition("@")[2]):
            store.remove(CLAIMS, mine)
            return False
    for flag in others:
        store.remove(CLAIMS, flag)
    return True
