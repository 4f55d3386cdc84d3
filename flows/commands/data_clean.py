"""`tolstoy data clean`: remove prepared files, after a question."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import Any

from flows.commands.text import table
from tasks.clean_cache import removable
from tasks.words import plural, size_text


def clean(
    cache: Path, *, everything: bool, fetched: bool, dry_run: bool, yes: bool, json: bool
) -> int:
    """List what can be removed, ask, and remove it."""
    found = removable(cache, everything, fetched)
    total = sum(one.bytes for one in found)
    if found and not json:
        lines = [(size_text(one.bytes), one.files[0].name, one.what) for one in found]
        print(table(("size", "file", "what it is"), lines))
    asked = f"{plural(len(found), 'entry', 'entries')}, {size_text(total)}"
    may_ask = not json and not dry_run and bool(found)
    agreed = not dry_run and (yes or (may_ask and _agreed(f"Remove {asked}? [y/N] ")))
    rows: list[dict[str, Any]] = []
    for one in found:
        row = {"files": [file.name for file in one.files], "what": one.what, "bytes": one.bytes}
        rows.append({**row, "removed": agreed and one.remove()})
    if json:
        print(jsonlib.dumps(rows, indent=2))
    elif not found:
        more = "" if everything and fetched else "; --all and --fetched remove more"
        print(f"Nothing to remove in {cache}{more}.")
    elif not agreed:
        print(f"\n{asked}. Nothing was removed; --yes removes it.")
    else:
        freed = sum(row["bytes"] for row in rows if row["removed"])
        stay = sum(not row["removed"] for row in rows)
        text = f"\nRemoved {size_text(freed)} from {cache}."
        print(
            text
            + (
                f" {plural(stay, 'entry', 'entries')} stayed, in use or of another user."
                if stay
                else ""
            )
        )
    return 0


def _agreed(question: str) -> bool:
    """Only a person at a terminal can agree."""
    if not sys.stdin.isatty():
        return False
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
