"""Published sizes of the papers' nets, to print and test beside ours."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class PublishedNet:
    """One row of a paper's table."""

    table: str
    game: str
    label: str
    """As printed."""
    net: str
    """Our name."""
    count: Literal["papers", "keras"]
    """Which of our counts is comparable: see `zerogames.nets.summary`."""
    parameters: float
    tolerance: float
    """Half a printed digit, or what the text leaves open."""


_CHESS = {
    "Residual": ("res", [(6, 96, 7.195, 5.426), (12, 96, 10.046, 6.507), (18, 96, 12.897, 7.589),
                         (6, 192, 16.017, 8.939)]),
    "MobileNet": ("mob", [(6, 96, 4.921, 4.865), (12, 96, 5.755, 5.645), (18, 96, 6.590, 6.424),
                          (6, 192, 7.265, 7.154), (18, 192, 13.589, 13.257)]),
    "ConvNeXt": ("cnx", [(6, 96, 4.546, 4.537), (18, 96, 5.466, 5.438), (6, 192, 5.907, 5.889)]),
}  # fmt: skip
_GO = {
    "a0.small": 988_405,
    "a0.small.avg": 986_748,
    "a0.small.avg.conv.bin": 968_485,
    "mobile.small": 997_506,
    "mobile.small.conv.avg.bin": 970_477,
}


def _chess(family: str, block: str, row: tuple[int, int, float, float]) -> list[PublishedNet]:
    blocks, channels, *millions = row
    return [
        PublishedNet(
            table="Chess: parameters in millions",
            game="chess",
            label=f"{family} {blocks}x{channels}, {filters} filters",
            net=f"{block}_{kernel}_{blocks}x{channels}+scalar",
            count="papers",
            parameters=published * 1e6,
            tolerance=1500,
        )
        for filters, kernel, published in zip(
            ("5x5", "chess"), ("5x5", "krb"), millions, strict=True
        )
    ]


PUBLISHED: tuple[PublishedNet, ...] = (
    *(
        net
        for family, (block, rows) in _CHESS.items()
        for row in rows
        for net in _chess(family, block, row)
    ),
    *(
        PublishedNet(
            table="Go 19x19: parameters with moving statistics",
            game="go",
            label=name,
            net=name,
            count="keras",
            parameters=count,
            tolerance=0,
        )
        for name, count in _GO.items()
    ),
)
