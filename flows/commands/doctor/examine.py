"""All checks, one after another, and how they are printed."""

from __future__ import annotations

import json as jsonlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from flows.commands.doctor.check import Check, Checks, masked, safely
from flows.commands.doctor.machine import Torch, of_machine
from flows.commands.doctor.services import of_services
from flows.commands.doctor.store import of_store
from infra.store import Store


def examine(store: str | None, deep: bool, cache: Path, json: bool) -> int:
    """Print a line per check, as soon as it is made; 1 if any fails."""
    place = Store(store) if store else None
    found: list[Check] = []
    for check in _all(place, deep, cache):
        check = Check(check.name, check.verdict, masked(check.found), masked(check.advice))
        found.append(check)
        if not json:
            advice = f". {check.advice}" if check.advice else ""
            print(f"{check.verdict:<5} {check.name:<13} {check.found}{advice}", flush=True)
    count = Counter(check.verdict for check in found)
    if json:
        facts = [asdict(check) for check in found]
        print(jsonlib.dumps({"checks": facts, "fails": count["fail"]}, indent=2))
    else:
        print(f"\n{len(found)} checks: {count['fail']} fail, {count['warn']} warn")
    return 1 if count["fail"] else 0


def _all(store: Store | None, deep: bool, cache: Path) -> Iterator[Check]:
    with ExitStack() as stack:
        torch = stack.enter_context(Torch())  # its import takes a second: meanwhile, the others
        parts: list[tuple[str, Checks]] = [
            ("machine", of_machine(cache)),
            ("services", of_services()),
            ("torch", torch.checks()),
        ]
        if store:
            parts.append(("store", of_store(store, deep)))
        if deep:
            from flows.commands.doctor.deep import one_task

            parts.append(("deep", one_task()))
        for name, checks in parts:
            yield from safely(name, checks)
