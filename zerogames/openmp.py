"""The waiting of torch's threads for one another."""

import os


def limit_openmp_spinning() -> None:
    """Let waiting threads spin for a tenth of a millisecond; what the user has set stays.

    OpenMP reads these variables of the environment once, when torch loads it, and has no function
    that sets them: call this before torch is imported. Threads that spin longer take the time of
    other work on the same cores (training was measured to be six times slower); without any
    spinning, training has half of its speed on free cores.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
