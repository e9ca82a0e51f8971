"""What is wrong with a cluster is said in one line, soon, before anything starts."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from zerogames import UserError

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.xdist_group("ray"),
]


def refusal(address: str) -> str:
    from zerogames_selfplay.ray.preflight import check_address

    begin = time.monotonic()
    with pytest.raises(UserError) as refused:
        check_address(address)
    assert time.monotonic() - begin < 10
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_addresses_that_are_none_are_refused() -> None:
    assert "HOST:PORT" in refusal("10.0.0.1")
    assert "HOST:PORT" in refusal("host:port")
    assert "on a node of the cluster" in refusal("ray://10.0.0.1:10001")
    assert "cannot be reached" in refusal("no-such-host.invalid:6379")


def test_a_port_where_nobody_listens_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "refused" in refusal(f"127.0.0.1:{port}")


def test_the_port_of_another_server_is_not_taken_for_a_cluster() -> None:
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert "is not the address of a Ray cluster" in refusal(f"127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of two nodes, one of which has another version of zerogames."""
    from ray.cluster_utils import Cluster

    ray.shutdown()
    # The first distribution of a name that is found on the path counts.
    other = tmp_path_factory.mktemp("path") / "zerogames-9.9.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: zerogames\nVersion: 9.9.9\n")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(other.parent)})
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


def test_a_cluster_is_accepted_and_a_wrong_token_or_version_refused(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zerogames_selfplay.ray import preflight

    preflight.check_address(cluster)
    own = preflight._own_versions()
    monkeypatch.setattr(preflight, "_own_versions", lambda: own | {"ray": "1.0"})
    assert f"runs ray {own['ray']}, this machine 1.0" in refusal(cluster)
    monkeypatch.setattr(preflight, "_own_versions", lambda: own)
    monkeypatch.setattr(preflight, "_own_address", lambda host, port: "192.0.2.77")
    assert "this machine (192.0.2.77) is not a node" in refusal(cluster)


def test_nodes_of_other_versions_and_missing_cpus_are_named(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zerogames_selfplay.ray import preflight
    from zerogames_selfplay.ray.connection import RayConnection
    from zerogames_selfplay.ray.preflight import Needs, check_nodes

    monkeypatch.setattr(preflight, "_VERSIONS_S", 60.0)  # On a busy machine.
    with pytest.raises(UserError, match=r"has zerogames .*install the same version"):
        RayConnection(cluster, Needs(game="connect4", workers=1))
    assert not ray.is_initialized()
    ray.init(address=cluster, log_to_driver=False, logging_level="ERROR")
    other = next(node for node in ray.nodes() if node["Resources"].get("CPU") == 1)
    own = next(node for node in ray.nodes() if node["Resources"].get("CPU") == 2)
    names = {own["NodeID"]: "own"}
    preflight._check_versions("connect4", names, own["NodeID"])
    with pytest.raises(UserError, match=r"node there has zerogames 9\.9\.9, this node"):
        preflight._check_versions("connect4", names | {other["NodeID"]: "there"}, own["NodeID"])
    monkeypatch.setattr(preflight, "_check_versions", lambda *_: None)
    check_nodes(Needs(game="connect4", workers=1, own_cpus=2))
    with pytest.raises(UserError, match=re.escape("9 CPUs are needed and 3 of")):
        check_nodes(Needs(game="connect4", workers=9))
    with pytest.raises(UserError, match="this node gives Ray 2 CPUs; learner and rater need 3"):
        check_nodes(Needs(game="connect4", workers=None, own_cpus=3))


def test_a_missing_token_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zerogames_selfplay.ray.local_cluster import LocalCluster
    from zerogames_selfplay.ray.preflight import check_address

    ray.shutdown()
    ours = LocalCluster(num_cpus=1)
    try:
        address = ray.get_runtime_context().gcs_address
        monkeypatch.setenv("RAY_AUTH_MODE", "token")
        check_address(address)
        monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
        assert "refuses this machine's token: copy the file" in refusal(address)
        monkeypatch.delenv("RAY_AUTH_TOKEN")
        monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert "refuses this machine's token: copy the file" in refusal(address)
    finally:
        ours.close()
