"""Checks before a run begins on a cluster: what is wrong is said in one line, within 10 s.

Ray itself waits long for an address that does not answer, and some errors end its process: so a
process of its own asks the cluster first.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from zerogames.errors import UserError

_CONNECT_S = 3.0
_ASK_S = 6.0
_VERSIONS_S = 5.0
_CPUS_S = 4.0
_METADATA = (b"CLUSTER_METADATA", b"cluster")
"""Where Ray keeps the versions of the cluster, and its namespace."""
_TOKEN_HELP = (
    "copy the file ~/.ray/auth_token from the node where `ray start --head` ran, or set "
    "RAY_AUTH_TOKEN, and set RAY_AUTH_MODE=token"
)


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a run needs of Ray."""

    game: str
    workers: int | None
    """CPUs for workers; None for all that are free."""
    own_cpus: int = 0
    """CPUs on the owner's node, for learner and rater."""


def check_address(address: str) -> None:
    """Raise `UserError` unless this machine is a node of the cluster at this address."""
    if address.startswith("ray://"):
        raise UserError(
            f"--ray-address {address}: run the command on a node of the cluster, with "
            "--ray-address auto"
        )
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UserError(f"--ray-address {address}: write HOST:PORT, as in 10.0.0.1:6379, or auto")
    try:
        with socket.create_connection((host, int(port)), _CONNECT_S) as connection:
            speaks = _speaks_http2(connection)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(
            f"Ray cluster '{address}' cannot be reached ({reason}); `ray status` on its head node "
            "tells its address"
        ) from None
    answer = _ask(address) if speaks else {}
    if answer is None:
        return  # It may be a cluster on a busy machine: Ray itself waits longer.
    own = {**_own_versions(), "address": _own_address(host, int(port))}
    _check_answer(address, answer, own)


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether a server begins as gRPC's do, with a frame of settings."""
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
    try:
        return connection.recv(9)[3:4] == b"\4"
    except OSError:  # It closes the connection, or says nothing.
        return False


def _ask(address: str) -> Mapping[str, Any] | None:
    """What the cluster says of itself; empty if it is none, None if there is no answer in time."""
    command = [sys.executable, "-P", "-m", __name__, address]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    if "InvalidAuthToken" in done.stderr or "token" in done.stderr.lower():
        return {"token": "missing"}
    try:
        table = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def _check_answer(address: str, answer: Mapping[str, Any], own: Mapping[str, str]) -> None:
    if answer.get("token"):
        raise UserError(f"Ray cluster '{address}' refuses this machine's token: {_TOKEN_HELP}")
    if not answer:
        raise UserError(
            f"'{address}' is not the address of a Ray cluster; the port is that of `ray start "
            "--head --port`, 6379 by default, not the dashboard's"
        )
    for what in ("ray", "python"):
        if answer[what] != own[what]:
            raise UserError(
                f"Ray cluster '{address}' runs {what} {answer[what]}, this machine {own[what]}: "
                "install the same version"
            )
    if own["address"] not in answer["nodes"]:
        raise UserError(
            f"this machine ({own['address']}) is not a node of the Ray cluster '{address}': begin "
            f"with `ray start --address {address}`"
        )


def _own_versions() -> dict[str, str]:
    return {"ray": ray.__version__, "python": ".".join(map(str, sys.version_info[:3]))}


def _own_address(host: str, port: int) -> str:
    """The address that the cluster knows this machine by."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))  # Sends nothing.
        return str(probe.getsockname()[0])


def check_nodes(needs: Needs) -> None:
    """Raise `UserError` for nodes of other versions, or too few free CPUs; Ray is connected."""
    nodes = {
        node["NodeID"]: node["NodeManagerHostname"]
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    }
    own_id = str(ray.get_runtime_context().get_node_id())
    _check_versions(needs.game, nodes, own_id)
    own_cpus = next(
        node["Resources"].get("CPU", 0.0)
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["NodeID"] == own_id
    )
    if own_cpus < needs.own_cpus:
        raise UserError(
            f"this node gives Ray {own_cpus:g} CPUs; learner and rater need {needs.own_cpus} here: "
            f"begin with `ray start --num-cpus {needs.own_cpus}`, or more"
        )
    wanted = needs.own_cpus + (1 if needs.workers is None else needs.workers)
    free, total = _cpus(wanted)
    if free < wanted:
        raise UserError(
            f"{wanted} CPUs are needed and {free} of the cluster's {total} are free: wait for "
            f"other jobs, add nodes, or use fewer --workers"
        )


def _cpus(wanted: int) -> tuple[int, int]:
    """Free and all CPUs of the cluster; Ray needs a moment to free those of a killed run."""
    deadline = time.monotonic() + _CPUS_S
    while True:
        free: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
        total: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        if free.get("CPU", 0) >= wanted or time.monotonic() > deadline:
            return int(free.get("CPU", 0)), int(total.get("CPU", 0))
        time.sleep(0.1)


def _check_versions(game: str, nodes: Mapping[str, str], own_id: str) -> None:
    # A function of its own, not the module's: so it runs where our package is missing, too.
    def versions(name: str) -> dict[str, str]:
        from importlib.metadata import PackageNotFoundError, entry_points, version

        found = {}
        for package in ("zerogames", "torch", "ray"):
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "missing"
        plugin = [one for one in entry_points(group="zerogames.games") if one.name == name]
        dist = plugin[0].dist if plugin else None
        found[f"the game {name}"] = dist.version if dist is not None else "missing"
        return found

    remote: Any = ray.remote(num_cpus=0, max_retries=0)(versions)
    name = game.partition(":")[0]
    calls = {}
    for node in nodes:
        there = NodeAffinitySchedulingStrategy(node, soft=False)
        calls[remote.options(scheduling_strategy=there).remote(name)] = node
    ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=_VERSIONS_S)
    # A node that is slow to answer is no reason to refuse the others.
    found = {calls[call]: ray.get(call) for call in ready}
    own = found.get(own_id) or versions(name)
    for node, theirs in found.items():
        for what, version in theirs.items():
            if version != own[what]:
                raise UserError(
                    f"node {nodes[node]} has {what} {version}, this node {own[what]}: install the "
                    "same version on all nodes"
                )


def _main(address: str) -> None:
    """Print what a cluster says of itself, as JSON."""
    from ray._raylet import GcsClient  # type: ignore[attr-defined]

    client = GcsClient(address=address)
    table = json.loads(client.internal_kv_get(*_METADATA, timeout=5))
    nodes = client.get_all_node_info(timeout=5).values()
    answer = {
        "ray": table["ray_version"],
        "python": table["python_version"],
        "nodes": [node.node_manager_address for node in nodes],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    _main(sys.argv[1])
