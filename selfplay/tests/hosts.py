"""Hosts on one machine: each has its own network, disk (/tmp), shared memory, name and processes.

They share what programs are installed, and a switch. Needs root.
"""

import os
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

_INSIDE = """
set -e
mount --bind "$1" /tmp && mount -t tmpfs tmpfs /dev/shm && hostname "$2" && export HOME=/tmp
cd /tmp && shift 2 && exec "$@"
"""


def run(*command: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True, capture_output=True)


class Switch:
    """The network between the hosts."""

    def __init__(self) -> None:
        self.name = f"zg{uuid.uuid4().hex[:6]}"
        run("ip", "netns", "add", self.name)
        self.inside("link", "add", "switch", "type", "bridge")
        self.inside("link", "set", "switch", "up")

    def inside(self, *arguments: str) -> None:
        """Run `ip` in the switch's namespace."""
        run("ip", "-n", self.name, *arguments)

    def close(self) -> None:
        """Remove it."""
        run("ip", "netns", "del", self.name)


class Host:
    """A host; its disk is a folder that stays."""

    def __init__(self, switch: Switch, number: int, disk: Path) -> None:
        self.address = f"10.98.0.{number}"
        self.name = f"host{number}"
        self.disk = disk
        disk.mkdir()
        self._switch = switch
        self._port = f"port{number}"
        self._space = f"{switch.name}h{number}"
        self._processes: list[subprocess.Popen[bytes]] = []
        run("ip", "netns", "add", self._space)
        link = ("link", "add", self._port, "type", "veth", "peer", "name", "eth0")
        switch.inside(*link, "netns", self._space)
        switch.inside("link", "set", self._port, "master", "switch", "up")
        for arguments in (
            ("link", "set", "lo", "up"),
            ("address", "add", f"{self.address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("route", "add", "default", "via", "10.98.0.254"),
        ):
            run("ip", "-n", self._space, *arguments)

    def start(self, command: Sequence[str], **variables: str) -> "subprocess.Popen[bytes]":
        """Start a command with processes of its own; its output is in `log.txt` on the disk."""
        space = ["nsenter", f"--net=/run/netns/{self._space}", "unshare", "--mount", "--uts"]
        space += ["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", _INSIDE, "sh"]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        with (self.disk / "log.txt").open("ab") as log:
            process = subprocess.Popen(
                [*space, str(self.disk), self.name, *command],
                env={**os.environ, "PATH": path, **variables},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._processes.append(process)
        return process

    @property
    def log(self) -> str:
        """What its commands have printed."""
        return (self.disk / "log.txt").read_text(errors="replace")

    def kill(self) -> None:
        """End all its processes at once."""
        for process in self._processes:
            process.kill()  # Its children die with it.
            process.wait()
        self._processes.clear()

    def plug(self, *, connected: bool) -> None:
        """Cut the host off from the network, or connect it again."""
        self._switch.inside("link", "set", self._port, "up" if connected else "down")

    def close(self) -> None:
        """Remove it; the disk stays."""
        self.kill()
        run("ip", "netns", "del", self._space)
