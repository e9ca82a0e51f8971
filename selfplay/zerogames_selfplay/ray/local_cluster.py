"""A Ray of our own on this machine, which nobody else can reach and which ends with the command.

- All its servers listen on loopback only; a Ray that listens elsewhere is ended and refused.
- Its dashboard is off, and its token is in a file that only its owner can read.
- A guard ends its processes when the command is gone.
"""

import contextlib
import logging
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import ray

from zerogames.atomic import temporary_path
from zerogames.errors import UserError
from zerogames_selfplay.ray.guard import ProcessGuard
from zerogames_selfplay.ray.processes import MARK, marked_processes, tcp_listeners


class LocalCluster:
    """A Ray on this machine for as long as it is open."""

    def __init__(self, *, num_cpus: int, num_gpus: int | None = None) -> None:
        """Start Ray with so many CPUs and GPUs to give away; by default with the machine's GPUs."""
        protect_token()
        mark = secrets.token_hex(16)
        self._guard = ProcessGuard(mark)
        own_listeners = _own_ports()
        try:
            with _marked(mark), _loopback_only():
                ray.init(
                    # `local` also when the environment names a cluster.
                    address="local",
                    num_cpus=num_cpus,
                    num_gpus=num_gpus,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.CRITICAL,
                    # Ray would let actors yield to everything else on the machine.
                    _system_config={"worker_niceness": 0},
                )
            _check_listeners(mark, own_listeners)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End Ray and all its processes."""
        try:
            ray.shutdown()
        finally:
            self._guard.close()


def protect_token() -> None:
    """Make the token with which Ray's processes know each other, readable by its owner alone.

    Ray makes the file itself when it is missing, but lets everybody read it.
    """
    if os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        return
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        return
    path = Path.home() / ".ray" / "auth_token"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            _write_secret(path)
        elif path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise UserError(
            f"Ray's token {path}: {error.strerror}; set RAY_AUTH_TOKEN_PATH to a file that can be "
            "written, or RAY_AUTH_MODE=disabled"
        ) from None


def _write_secret(path: Path) -> None:
    """Write a new secret; the file is there at once, whole, and never readable by others."""
    written = temporary_path(path)
    descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):
            os.link(written, path)  # The file of whoever was first stays.
    finally:
        written.unlink()


@contextlib.contextmanager
def _marked(mark: str) -> Iterator[None]:
    """All processes that are started here carry the mark."""
    os.environ[MARK] = mark
    try:
        yield
    finally:
        del os.environ[MARK]


@contextlib.contextmanager
def _loopback_only() -> Iterator[None]:
    """Let Ray bind its servers to 127.0.0.1, as it does by default on macOS and Windows.

    `_node_ip_address="127.0.0.1"` would not do: Ray replaces it by the machine's address. All its
    servers choose where to listen by the node's address, which this switch decides.
    """
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def _own_ports() -> set[int]:
    return {listener.port for listener in tcp_listeners([os.getpid()])}


def _check_listeners(mark: str, own_before: set[int]) -> None:
    """Refuse a Ray that can be reached from elsewhere."""
    listeners = tcp_listeners(marked_processes(mark))
    own = tcp_listeners([os.getpid()])
    listeners += [listener for listener in own if listener.port not in own_before]
    for listener in listeners:
        if not listener.is_local:
            raise UserError(
                f"Ray {ray.__version__} listens beyond this machine ({listener.process} on "
                f"{listener.address}:{listener.port}); install another version, or use --workers 0"
            )
