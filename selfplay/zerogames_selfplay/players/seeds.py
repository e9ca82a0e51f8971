"""One seed for a run, others for its parts."""

import hashlib


def derive_seed(seed: int, *parts: int) -> int:
    """A seed for a part of a run: 63 bits, the seed itself for the part (0, 0, ...)."""
    if not any(parts):
        return seed
    text = ",".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
