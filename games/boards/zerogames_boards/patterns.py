"""The board-shaped kernels of the board games, as masks of a 5x5 convolution."""

from zerogames_kernels import Pattern

HEXAGONS = {
    # Rows of hexagons are shifted, so a cell has two diagonal neighbours and not four.
    "h": Pattern.from_mask("hexagon", "00000 00110 01110 01100 00000"),
    # And the six cells that two free cells connect: bridges.
    "b": Pattern.from_mask("hexagon and bridges", "00010 01111 01110 11110 01000"),
}

STEPS = {
    # The steps of the men of both sides: three ahead, three back.
    "v": Pattern.from_mask("steps", "00000 01110 00100 01110 00000"),
    # And where they may come from or go to in two.
    "w": Pattern.from_mask("two steps", "10101 01110 00100 01110 10101"),
}

QUEENS = {
    # Eight directions, two cells far: the lines of queens, and of stones in a row.
    "q": Pattern.from_mask("queen", "10101 01110 11111 01110 10101"),
}

RINGS = {
    # Where a piece jumps to and comes from; clones and captures are the full 3x3.
    "j": Pattern.from_mask("jumps", "11111 10001 10101 10001 11111"),
}

LINES = {
    # Rows of stones along and across, aslant, and all at once.
    "l": Pattern.from_mask("cross", "00100 00100 11111 00100 00100"),
    "d": Pattern.from_mask("diagonals", "10001 01010 00100 01010 10001"),
    **QUEENS,
}
