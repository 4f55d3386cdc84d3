"""The processes that a process started, and waiting for them."""

from __future__ import annotations

import ipaddress
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

LISTENING = "0A"  # the state of a socket in /proc


def descendants(root: int) -> list[tuple[int, str]]:
    """(pid, command) of all processes below one."""
    listing = subprocess.run(
        ["ps", "-axwwo", "pid=,ppid=,command="], capture_output=True, text=True, check=True
    )
    children: dict[int, list[tuple[int, str]]] = {}
    for line in listing.stdout.splitlines():
        pid, parent, command = line.split(None, 2)
        children.setdefault(int(parent), []).append((int(pid), command))
    below: list[tuple[int, str]] = []
    todo = [root]
    while todo:
        direct = children.get(todo.pop(), [])
        below += direct
        todo += [pid for pid, _ in direct]
    return below


def wait_until(true: Callable[[], object], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.2)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def all_end(pids: Sequence[int], seconds: float = 30) -> None:
    wait_until(lambda: not any(map(is_alive, pids)), seconds)


def listens_on(pid: int) -> set[str]:
    """The addresses on which a process accepts TCP connections; on Linux only."""
    addresses: set[str] = set()
    with suppress(OSError):  # the process has ended
        files = {os.path.realpath(file) for file in Path(f"/proc/{pid}/fd").iterdir()}
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                columns = line.split()
                address, state, inode = columns[1].partition(":")[0], columns[3], columns[9]
                if state == LISTENING and f"/proc/{pid}/fd/socket:[{inode}]" in files:
                    raw = bytes.fromhex(address)  # words of 4 bytes, the last byte first
                    words = (raw[i : i + 4][::-1] for i in range(0, len(raw), 4))
                    ip = ipaddress.ip_address(b"".join(words))
                    addresses.add(str(getattr(ip, "ipv4_mapped", None) or ip))
    return addresses
