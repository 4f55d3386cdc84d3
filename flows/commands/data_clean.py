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
    entries = removable(cache, everything, fetched)
    total = sum(entry.bytes for entry in entries)
    if entries and not json:
        lines = [(size_text(entry.bytes), entry.files[0].name, entry.what) for entry in entries]
        print(table(("size", "file", "what it is"), lines))
    asked = f"{plural(len(entries), 'entry', 'entries')}, {size_text(total)}"
    may_ask = not json and not dry_run and bool(entries)
    agreed = not dry_run and (yes or (may_ask and _agreed(f"Remove {asked}? [y/N] ")))
    rows: list[dict[str, Any]] = []
    for entry in entries:
        row = {
            "files": [file.name for file in entry.files],
            "what": entry.what,
            "bytes": entry.bytes,
        }
        rows.append({**row, "removed": agreed and entry.remove()})
    if json:
        print(jsonlib.dumps(rows, indent=2))
    elif not entries:
        more = "" if everything and fetched else "; --all and --fetched remove more"
        print(f"Nothing to remove in {cache}{more}.")
    elif not agreed:
        print(f"\n{asked}. Nothing was removed; --yes removes it.")
    else:
        freed = sum(row["bytes"] for row in rows if row["removed"])
        stay = sum(not row["removed"] for row in rows)
        rest = f" {plural(stay, 'entry', 'entries')} stayed, in use or of another user."
        print(f"\nRemoved {size_text(freed)} from {cache}.{rest if stay else ''}")
    return 0


def _agreed(question: str) -> bool:
    """Only a person at a terminal can agree."""
    if not sys.stdin.isatty():
        return False
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
