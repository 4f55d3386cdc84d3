"""Which driver does what: one file per claim, `<store>/claims/NAME`, that names its driver.

- In a file system a claim is a hard link, which only one of several writers can create. Each
  driver has one file `by-DRIVER`; its claims link to it, so that nothing is written per claim.
- In an object store there are no links, and pyarrow cannot ask for exclusive creation. There a
  claim is an empty file `NAME@DRIVER`: write it, then list; if the file of another driver is there
  too, remove our own and try again later. Of two that write at the same time at least one sees the
  file of the other. If both do, both try again later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from infra.store import Store

CLAIMS = "claims"
LOCK = (CLAIMS, ".lock")


def take(store: Store, name: str, driver: str, is_dead: Callable[[str], bool]) -> bool:
    """Whether the driver has the claim now; the claim of a dead driver is taken over."""
    if not store.local:
        return _take_in_object_store(store, name, driver, is_dead)
    if _linked(store, name, driver):
        return True
    owner = _owner(store, name)
    if owner == driver or owner is None:  # None: it was released at this moment
        return owner == driver
    if owner and not is_dead(owner):
        return False
    with store.locked(*LOCK):  # several may find the owner dead; an empty owner died while writing
        if _owner(store, name) != owner:
            return False
        store.write_bytes(driver.encode(), CLAIMS, name)
        return True


def release(store: Store, names: Iterable[str], driver: str) -> None:
    if not store.local:
        for name in names:
            store.remove(CLAIMS, f"{name}@{driver}")
        return
    with store.locked(*LOCK):
        for name in names:
            if _owner(store, name) == driver:  # nobody took it over, believing the driver dead
                store.remove(CLAIMS, name)


def remove_driver(store: Store, driver: str) -> None:
    """For a driver that has ended; another driver takes over the claims that it did not release."""
    if store.local:
        store.remove(CLAIMS, _file_of(driver))


def remove_all(store: Store) -> None:
    """For the only driver of a store: dead drivers left these claims."""
    for name in store.names(CLAIMS):
        store.remove(CLAIMS, name)


def _file_of(driver: str) -> str:
    return f"by-{driver}"


def _linked(store: Store, name: str, driver: str) -> bool:
    """Whether the name was free and is a link to this driver's file now."""
    file, claim = (CLAIMS, _file_of(driver)), (CLAIMS, name)
    try:
        return store.link_exclusively(file, claim, LOCK)
    except FileNotFoundError:
        store.write_bytes(driver.encode(), *file)
        return store.link_exclusively(file, claim, LOCK)


def _owner(store: Store, name: str) -> str | None:
    with suppress(FileNotFoundError):
        return store.read_bytes(CLAIMS, name).decode(errors="replace")
    return None


def _take_in_object_store(
    store: Store, name: str, driver: str, is_dead: Callable[[str], bool]
) -> bool:
    """If this raises, the claim's file may be there: the caller must release it."""
    own = f"{name}@{driver}"
    store.write_bytes(b"", CLAIMS, own)
    files = [file for file in store.names(CLAIMS) if file.rpartition("@")[0] == name]
    others = [file for file in files if file != own]
    for file in others:
        if not is_dead(file.rpartition("@")[2]):
            store.remove(CLAIMS, own)
            return False
    for file in others:
        store.remove(CLAIMS, file)
    return True
