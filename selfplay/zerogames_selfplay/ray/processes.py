"""The processes of a local Ray, and the sockets they listen on (Linux: read from /proc).

Ray changes the names and the parents of its processes, but all of them inherit the environment of
the one that started Ray: a variable in it marks them.
"""

import contextlib
import ipaddress
import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "ZEROGAMES_LOCAL_RAY"
"""The variable that marks the processes of a local Ray."""

_PROC = Path("/proc")
_LISTEN = "0A"
"""TCP's state in /proc/net/tcp."""


def marked_processes(mark: str) -> list[int]:
    """All processes of this user that carry the mark, except this one."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid in _pids():
        with contextlib.suppress(OSError):
            if wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def _pids() -> Iterator[int]:
    if _PROC.is_dir():
        yield from (int(name) for name in os.listdir(_PROC) if name.isdecimal())


def end_processes(mark: str, *, timeout_s: float = 5.0) -> None:
    """Kill all marked processes, and those that they were starting meanwhile."""
    deadline = time.monotonic() + timeout_s
    quiet = 0  # A process that is just being started shows no environment: look again.
    while quiet < 3 and time.monotonic() < deadline:
        pids = marked_processes(mark)
        quiet = 0 if pids else quiet + 1
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


@dataclass(frozen=True, kw_only=True)
class Listener:
    """A socket on which a process waits for connections."""

    pid: int
    process: str
    address: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        address = ipaddress.ip_address(self.address)
        mapped = getattr(address, "ipv4_mapped", None)
        return (mapped or address).is_loopback


def tcp_listeners(pids: Sequence[int]) -> list[Listener]:
    """All TCP sockets on which the processes wait for connections."""
    return [listener for pid in pids for listener in _listeners_of(pid)]


def _listeners_of(pid: int) -> Iterator[Listener]:
    folder = _PROC / str(pid)
    try:
        inodes = set(_socket_inodes(folder / "fd"))
        process = (folder / "comm").read_text().strip()
        tables = [(folder / "net" / name).read_text() for name in ("tcp", "tcp6")]
    except OSError:
        return  # It has ended.
    for line in "".join(table.partition("\n")[2] for table in tables).splitlines():
        fields = line.split()
        if fields[3] == _LISTEN and fields[9] in inodes:
            address, port = fields[1].split(":")
            yield Listener(pid=pid, process=process, address=_address(address), port=int(port, 16))


def _socket_inodes(folder: Path) -> Iterator[str]:
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            kind, _, inode = os.readlink(folder / name).partition(":")
            if kind == "socket":
                yield inode.strip("[]")


def _address(text: str) -> str:
    """An address as the kernel prints it: words of 32 bits, each in the machine's byte order."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, b"".join(words))
