"""How much memory this process can still get."""

from collections.abc import Iterable
from pathlib import Path

from zerogames.errors import UserError

_KEPT_SHARE = 0.25
"""The share of the available memory that no cache takes."""


def available_mebibytes() -> int | None:
    """Return the memory that a cache may take at most; None where the system does not say."""
    found = [*_read("/proc/meminfo", "MemAvailable:", 1024), *_left_to_the_group()]
    if not found:
        return None
    return max(1, int(min(found) * (1 - _KEPT_SHARE)) >> 20)


def require_mebibytes(name: str, wanted: int) -> None:
    """Raise `UserError` if a cache of this size cannot be had."""
    most = available_mebibytes()
    if most is not None and wanted > max(most, 64):
        raise UserError(f"{name}: {wanted} MiB cannot be had; at most {most} MiB are free here")


def _left_to_the_group() -> Iterable[int]:
    """The rest of the limit of a container (cgroup 2)."""
    limit = _read("/sys/fs/cgroup/memory.max", "", 1)
    used = _read("/sys/fs/cgroup/memory.current", "", 1)
    return [max(0, most - now) for most, now in zip(limit, used, strict=False)]


def _read(path: str, name: str, unit: int) -> list[int]:
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    words = [line.removeprefix(name).split() for line in lines if line.startswith(name)]
    return [int(word[0]) * unit for word in words if word and word[0].isdecimal()]
