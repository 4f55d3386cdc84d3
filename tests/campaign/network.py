"""Two addresses for the cluster's nodes; where root may, the second has a network of its own.

That is a network namespace of Linux, at the other end of a virtual cable. While it is cut off, its
packet filter drops what comes and goes, as a switch that died does: nobody gets an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress


class Loopback:
    """Two addresses of this machine, whose nodes cannot be cut off."""

    head, node = "127.0.0.2", "127.0.0.3"  # 127.0.0.1 would be replaced by an outside address

    @property
    def inside(self) -> list[str]:
        """What a command on the second node begins with."""
        return []


class Network(Loopback):
    def __init__(self) -> None:
        number = os.getpid()
        self.name, self.ours, self.theirs = f"tolstoy-{number}", f"tol{number}", f"toln{number}"
        subnet = f"10.{200 + number // 256 % 50}.{number % 256}"
        self.head, self.node = f"{subnet}.1", f"{subnet}.2"
        self.why_not = self._set_up() if sys.platform == "linux" else "no Linux"
        if self.why_not:
            self.remove()
            self.head, self.node = Loopback.head, Loopback.node

    @property
    def inside(self) -> list[str]:
        return [] if self.why_not else ["nsenter", f"--net=/run/netns/{self.name}", "--"]

    def cut(self) -> None:
        self._filter("-A")

    def mend(self) -> None:
        with suppress(subprocess.CalledProcessError):  # it is not cut
            self._filter("-D")

    def remove(self) -> None:
        for command in (["ip", "netns", "del", self.name], ["ip", "link", "del", self.ours]):
            with suppress(OSError):
                subprocess.run(command, capture_output=True)

    def _filter(self, change: str) -> None:
        for chain, way in (("INPUT", "-i"), ("OUTPUT", "-o")):
            _call(*self.inside, "iptables", change, chain, way, self.theirs, "-j", "DROP")

    def _set_up(self) -> str:
        """Why it cannot be; empty if it is."""
        there = ["ip", "-n", self.name]
        try:
            _call("ip", "netns", "add", self.name)
            _call(
                *("ip", "link", "add", self.ours, "type", "veth"),
                *("peer", "name", self.theirs, "netns", self.name),
            )
            _call("ip", "address", "add", f"{self.head}/30", "dev", self.ours)
            _call("ip", "link", "set", self.ours, "up")
            _call(*there, "address", "add", f"{self.node}/30", "dev", self.theirs)
            _call(*there, "link", "set", self.theirs, "up")
            _call(*there, "link", "set", "lo", "up")
            self.why_not = ""
            self.cut()
            self.mend()
        except FileNotFoundError as error:
            return f"no program {error.filename}"
        except subprocess.CalledProcessError as error:
            return f"no network namespaces here ({error.stderr.decode().strip()})"
        return ""


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
