"""A Ray of our own: nobody else reaches it, and nothing of it outlives the command."""

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from zerogames_selfplay.ray.processes import Listener, tcp_listeners

from zerogames import UserError

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.xdist_group("ray"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc"),
]

SELFPLAY = [
    *(sys.executable, "-m", "zerogames", "selfplay", "--game", "connect4"),
    *("--evaluator", "random", "--workers", "2", "--simulations", "8"),
]
IN_NAMESPACE = """
ip link set lo up && ip link add outside type veth peer name inside &&
ip address add 10.99.0.1/24 dev inside && ip link set inside up && ip link set outside up &&
ip route add default via 10.99.0.2 && exec "$@"
"""


class Command:
    """A command whose processes are known by a variable that all of them inherit."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.mark = f"ZEROGAMES_TEST={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        self.log = folder / "log.txt"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                arguments,
                cwd=folder,
                env={**os.environ, name: value},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def processes(self) -> list[str]:
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if (
                    folder.name.isdecimal()
                    and self.mark.encode() in (folder / "environ").read_bytes()
                ):
                    found.append((folder / "cmdline").read_text().replace("\0", " ")[:80])
        return found

    def wait_for_games(self, folder: Path) -> None:
        deadline = time.monotonic() + 120
        while not list(folder.glob("shards/*.parquet")):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def assert_gone(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while left := self.processes():
            assert time.monotonic() < deadline, left
            time.sleep(0.1)


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[list[Command]]:
    begun: list[Command] = []
    yield begun
    for command in begun:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(command.process.pid, signal.SIGKILL)
        command.process.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.skipif(
    not all(shutil.which(tool) for tool in ("ip", "ss", "unshare", "nsenter")),
    reason="needs iproute2 and util-linux",
)
def test_workers_listen_on_loopback_only_and_die_with_a_killed_driver(
    tmp_path: Path, commands: list[Command]
) -> None:
    arguments = [*SELFPLAY, "--forever", "--shard-positions", "100", "--out", "run"]
    command = Command(["unshare", "--net", "sh", "-c", IN_NAMESPACE, "sh", *arguments], tmp_path)
    commands.append(command)
    command.wait_for_games(tmp_path / "run")
    inside = ["nsenter", "--net", f"--target={command.process.pid}"]
    addresses = subprocess.check_output([*inside, "ip", "-brief", "address"], text=True)
    assert "10.99.0.1" in addresses
    sockets = subprocess.check_output([*inside, "ss", "-Hltun"], text=True).splitlines()
    local = [line.split()[4].rpartition(":")[0] for line in sockets]
    # Object manager, raylet, global store, driver, and the workers.
    assert len(local) >= 6
    assert {address.strip("[]").removeprefix("::ffff:") for address in local} == {"127.0.0.1"}
    assert len(command.processes()) >= 8
    command.process.kill()
    command.assert_gone(20.0)  # Ray's agents by themselves stay for a minute.


@pytest.mark.slow
@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_a_command_that_ends(
    number: signal.Signals | None, tmp_path: Path, commands: list[Command]
) -> None:
    limit = ["--forever", "--shard-positions", "100"] if number else ["--games", "50"]
    command = Command([*SELFPLAY, *limit, "--out", "run"], tmp_path)
    commands.append(command)
    if number:
        command.wait_for_games(tmp_path / "run")
        command.process.send_signal(number)
    assert command.process.wait(120) == 0, command.log.read_text()
    assert command.processes() == []
    assert "WARNING" not in command.log.read_text()


def test_a_ray_that_listens_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from zerogames_selfplay.ray import local_cluster

    if not _address_of_this_machine():
        pytest.skip("this machine has no address but loopback")
    ray.shutdown()
    monkeypatch.setattr(local_cluster, "_loopback_only", contextlib.nullcontext)
    with pytest.raises(UserError, match=r"listens beyond this machine .*--workers 0"):
        local_cluster.LocalCluster(num_cpus=1)
    assert not ray.is_initialized()


def _address_of_this_machine() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Sends nothing.
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


def test_the_token_is_made_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zerogames_selfplay.ray.local_cluster import protect_token

    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    token = tmp_path / ".ray" / "auth_token"
    protect_token()
    secret = token.read_text()
    assert len(secret) == 64
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert list(token.parent.iterdir()) == [token]
    token.chmod(0o644)
    protect_token()
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert token.read_text() == secret


@pytest.mark.parametrize(
    ("family", "address", "local"),
    [
        (socket.AF_INET, "127.0.0.1", True),
        (socket.AF_INET, "0.0.0.0", False),
        (socket.AF_INET6, "::1", True),
        (socket.AF_INET6, "::", False),
        (socket.AF_INET6, "::ffff:127.0.0.1", True),
    ],
)
def test_sockets_are_found_with_their_addresses(
    family: socket.AddressFamily, address: str, local: bool
) -> None:
    with socket.socket(family) as server:
        try:
            server.bind((address, 0))
        except OSError:
            pytest.skip("no IPv6 here")
        server.listen()
        port = server.getsockname()[1]
        found = [one for one in tcp_listeners([os.getpid()]) if one.port == port]
    assert [(one.address, one.is_local) for one in found] == [(address, local)]
    assert isinstance(found[0], Listener)
