"""The board-shaped kernels of chess: how pieces move, as masks of a 5x5 convolution.

A *mask* says which of the 25 weights of a 5x5 kernel are kept: `1` keeps one, `0` drops it. A
*pattern* (`zerogames_kernels.Pattern`) is such a mask with a name; the offsets that it keeps are
called its taps. Each pattern has nine taps, so a masked kernel costs as much as a full 3x3 one and
sees two squares far. The letters are those of net names: in `mob_krb_6x96` a third of the channels
has the knight's pattern, a third the rook's and a third the bishop's, in this order.
"""

from zerogames_kernels import Pattern

PATTERNS = {
    "k": Pattern.from_mask("knight", "01010 10001 00100 10001 01010"),
    "r": Pattern.from_mask("rook", "00100 00100 11111 00100 00100"),
    "b": Pattern.from_mask("bishop", "10001 01010 00100 01010 10001"),
}
