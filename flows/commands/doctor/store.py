"""One study's store: can it be written, is it a study, what is damaged, who works on it."""

from __future__ import annotations

import os
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

from flows.commands.doctor.check import Check, Checks, safely
from infra.drivers.claims import CLAIMS
from infra.drivers.liveness import DRIVERS, DriverWatch, Life
from infra.drivers.lock import BEAT_SECONDS
from infra.errors import WrongInput
from infra.store import Store
from infra.tables import TABLES
from tasks.study.stored import STUDY_FILE, stored_study

LOOK_SECONDS = 1.5  # for ends of parts: a large study has tens of thousands
NAMED = 3


def of_store(store: Store, deep: bool) -> Checks:
    if not store.exists():
        yield Check("store", "ok", f"{store} is not there yet; tolstoy run makes it")
        return
    yield _writable(store)
    yield from safely("study", _study(store))
    yield _whole(store, deep)
    yield from safely("holder", _holders(store))


def _writable(store: Store) -> Check:
    probe = f".probe-{uuid.uuid4().hex}"
    try:
        store.write_bytes(b"", probe)
        store.remove(probe)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        advice = "A run waits for it; free some room or mend the mount"
        return Check("store", "fail", f"{store} cannot be written: {reason}", advice)
    return Check("store", "ok", f"{store} can be written")


def _study(store: Store) -> Checks:
    if not store.exists(STUDY_FILE):
        if set(store.names()) - {DRIVERS, CLAIMS}:
            advice = "Choose an empty folder, or one that tolstoy run made"
            yield Check("study", "fail", f"{store} holds other things, and no study", advice)
        else:
            yield Check("study", "ok", f"none yet: {store} is empty")
        return
    try:
        study = stored_study(store)
    except WrongInput as error:
        yield Check(
            "study", "fail", str(error), "Write it again: tolstoy run SPEC in another store"
        )
        return
    cells = study.cells()
    found = f"{study.name}: {len(cells):,} cells × {len(study.seed_list)} seeds"
    yield Check("study", "ok", f"{found}; tolstoy status {store}")


def _whole(store: Store, deep: bool) -> Check:
    """Parts whose end cannot be read, which a cut-short one has lost; if deep, any byte of them."""
    parts = [(table, key) for table in TABLES for key in store.parts(table)]
    bad, read, began = [], 0, time.monotonic()
    for table, key in parts:
        if not deep and time.monotonic() - began > LOOK_SECONDS:
            break
        read += 1
        if _damaged(store, table, key, deep):
            bad.append(f"{table}/{key}.parquet")
    how = "read" if deep else "looked at; --deep reads every byte"
    found = f"{len(bad):,} damaged; {read:,} of {len(parts):,} {how}"
    if not bad:
        return Check("parts", "ok", found)
    more = ", ..." if len(bad) > NAMED else ""
    advice = "They count as not there: the next tolstoy run makes what it can again"
    return Check("parts", "warn", f"{found}: {', '.join(bad[:NAMED])}{more}", advice)


def _damaged(store: Store, table: str, key: str, deep: bool) -> bool:
    path = store.path("tables", table, f"{key}.parquet")
    try:
        with pq.ParquetFile(path, filesystem=store.fs, page_checksum_verification=True) as part:
            if deep:
                part.read(use_threads=False)
    except FileNotFoundError:  # merged meanwhile
        return False
    except (pa.ArrowException, OSError, ValueError):
        return True
    return False


def _holders(store: Store) -> Checks:
    """A driver on another machine shows life only to whoever watches for half a minute."""
    found = DriverWatch(store, "", BEAT_SECONDS).drivers()
    told = {Life.ALIVE: "works on it", Life.UNKNOWN: "on another machine, perhaps gone"}
    for life, text in told.items():
        for driver in found[life]:
            yield Check("holder", "ok", f"{driver} {text}, since {driver.started}")
    for driver in found[Life.DEAD]:
        yield Check("holder", "warn", f"{driver} died", "The next tolstoy run takes over from it")
    if not any(found.values()):
        yield Check("holder", "ok", "nobody works on it")
