"""The board-shaped kernels of shogi: how pieces move, as masks of a 5x5 convolution.

The rows are seen by the side to move, whose pieces move up and the opponent's down, so each pattern
holds the steps of both sides: what a square's piece reaches, and from where the square is attacked.
All have nine taps, as many as a full 3x3 kernel, and may share a layer: in `mob_rbng_4x48` a
quarter of the channels each has the lines of rooks, those of bishops, the jumps of knights with the
lances' file, and the steps of golds.
"""

from zerogames_kernels import Pattern

PATTERNS = {
    "r": Pattern.from_mask("rook", "00100 00100 11111 00100 00100"),
    "b": Pattern.from_mask("bishop", "10001 01010 00100 01010 10001"),
    # A knight's four jumps and the file of a lance, which no other pattern follows alone.
    "n": Pattern.from_mask("knight and lance", "01110 00100 00100 00100 01110"),
    "g": Pattern.from_mask("gold", "00000 01110 01110 01110 00000"),
    # A silver has no step to the side; the squares two ahead, where it goes next, make up nine.
    "s": Pattern.from_mask("silver", "00100 01110 00100 01110 00100"),
}
