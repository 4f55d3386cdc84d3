"""The processes that a process started, as the system tells."""

from __future__ import annotations

import subprocess


def descendants(root: int) -> list[tuple[int, str]]:
    """(pid, command) of all processes below one."""
    listing = subprocess.run(
        ["ps", "-axwwo", "pid=,ppid=,command="], capture_output=True, text=True, check=True
    )
    children: dict[int, list[tuple[int, str]]] = {}
    for line in listing.stdout.splitlines():
        pid, parent, command = line.split(None, 2)
        children.setdefault(int(parent), []).append((int(pid), command))
    found: list[tuple[int, str]] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += [pid for pid, _ in below]
    return found
