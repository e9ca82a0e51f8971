"""Joining a Ray cluster, or starting a local one."""

import contextlib
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from zerogames.errors import UserError
from zerogames_selfplay.ray.local_cluster import LocalCluster
from zerogames_selfplay.ray.preflight import Needs, check_address, check_nodes


class RayConnection:
    """Ray for as long as it is open; a Ray that runs already is used and left running."""

    def __init__(self, address: str | None, needs: Needs) -> None:
        """Join the cluster at `address`, or start a local one that has what is needed.

        Raises:
            UserError: within 10 s for a cluster that cannot be used, before anything starts.
        """
        self._is_ours = not ray.is_initialized()
        self._local: LocalCluster | None = None
        if self._is_ours:
            try:
                with _our_signals():
                    if address is None:
                        workers = (os.cpu_count() or 1) if needs.workers is None else needs.workers
                        self._local = LocalCluster(num_cpus=workers + needs.own_cpus)
                    else:
                        _join(address)
            except UserError:
                raise
            except Exception as error:  # Ray raises plain ones, e.g. after its 30 s for a start
                reason = str(error).partition("\n")[0]
                where = f"Ray cluster '{address}'" if address else "starting Ray"
                raise UserError(f"{where}: {reason}") from None
            _keep_off_the_screen()
            if address is not None:
                try:
                    check_nodes(needs)
                except BaseException:
                    self.close()
                    raise

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        if self._local is not None:
            self._local.close()
        elif self._is_ours:
            ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def logs_folder() -> Path:
    """Where Ray's logs are on this machine."""
    node = ray._private.worker._global_node
    return Path(node.get_logs_dir_path()) if node else Path(tempfile.gettempdir()) / "ray"


def own_node() -> str:
    """The identity of this process's node."""
    return str(ray.get_runtime_context().get_node_id())


def on_own_node() -> NodeAffinitySchedulingStrategy:
    """Where learner and rater are: they read and write the run's folder."""
    return NodeAffinitySchedulingStrategy(own_node(), soft=False)


def own_resources() -> dict[str, float]:
    """What this process's node has for Ray, such as `CPU` and `GPU`."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    own = [node for node in nodes if node["NodeID"] == own_node()]
    return {name: float(value) for node in own for name, value in node["Resources"].items()}


def _join(address: str) -> None:
    check_address(address)
    # What Ray says before it is told its level of logging.
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)


@contextlib.contextmanager
def _our_signals() -> Iterator[None]:
    """Keep what signals do: a Ray that has started aborts the process at SIGTERM."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _keep_off_the_screen() -> None:
    """Leave Ray's warnings, such as that of a dead worker, to its logs.

    `log_to_driver=False` keeps back what actors print, not what Ray says of them itself.
    """
    if hasattr(ray._private.worker, "_worker_logs_enabled"):
        ray._private.worker._worker_logs_enabled = False
