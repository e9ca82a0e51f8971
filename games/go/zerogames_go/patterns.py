"""The board-shaped kernels of Go: masks of a 5x5 convolution with nine taps each.

A pattern names the offsets (row, column) of a 5x5 kernel that are kept; the others are masked out.
The letters are those of net names, e.g. `mob_cdk_4x48`: `c` cross and `d` diagonals, both to
distance two, `k` keima (the knight's move).
"""

from zerogames_kernels import Pattern

_CENTRE = (0, 0)
_STEPS = (-2, -1, 1, 2)
_KEIMA = [(a, b) for a in (-1, 1) for b in (-2, 2)]

PATTERNS = {
    "c": Pattern("cross", (_CENTRE, *(at for n in _STEPS for at in ((n, 0), (0, n))))),
    "d": Pattern("diagonal", (_CENTRE, *((n, m) for n in _STEPS for m in (n, -n)))),
    "k": Pattern("keima", (_CENTRE, *_KEIMA, *((b, a) for a, b in _KEIMA))),
}
