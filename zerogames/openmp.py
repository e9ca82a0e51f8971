"""How torch's threads wait for one another."""

import os


def let_threads_wait_briefly() -> None:
    """Call it before torch is loaded; what the user has set stays.

    Threads that spin while they wait take each other's time beside other work on the same cores:
    training was measured to be six times slower so. Without any spinning it has half of its speed
    on free cores. A tenth of a millisecond serves both.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
