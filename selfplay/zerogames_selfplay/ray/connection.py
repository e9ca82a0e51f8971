"""Joining a Ray cluster, or starting a local one."""

import logging
from typing import Self

import ray

from zerogames.errors import UserError


class RayConnection:
    """Ray for as long as it is open; a Ray that runs already is used and left running."""

    def __init__(self, address: str | None, *, num_cpus: int) -> None:
        """Join the cluster at `address`, or start a local one that may run `num_cpus` actors."""
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            _start_ray(address, num_cpus)

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        if self._is_ours:
            ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _start_ray(address: str | None, num_cpus: int) -> None:
    try:
        if address is not None:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        else:
            ray.init(
                num_cpus=num_cpus,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                # Ray would let actors yield to everything else on the machine.
                _system_config={"worker_niceness": 0},
            )
    except Exception as error:  # Ray raises plain ones, e.g. after its 30 s for a start
        reason = str(error).partition("\n")[0]
        where = f"Ray cluster '{address}'" if address else "starting Ray"
        raise UserError(f"{where}: {reason}") from None
