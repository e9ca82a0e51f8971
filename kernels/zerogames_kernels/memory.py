"""Memory of large tensors."""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Names in glibc's `malloc.h`."""


def keep_freed_memory() -> bool:
    """Let this process keep the memory of freed tensors for the next ones.

    The C library gives large blocks back to the system at once. The next tensor of that size then
    lies on pages that must be mapped and cleared when first touched, which takes longer than the
    kernels themselves. The peak may grow by a few tensors: glibc does not always find the block
    that an aligned one of the same size has left.

    Returns:
        Whether it was done: on Linux with glibc.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, -1) and mallopt(_M_MMAP_MAX, 0))
