"""Published sizes of nets, to print and test beside ours; a game's plugin supplies the tables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerogames.nets.model import Model


@dataclass(frozen=True, kw_only=True)
class PublishedNet:
    """One row of a paper's table."""

    label: str
    """The net as the paper calls it."""
    net: str
    """Our name."""
    parameters: float
    tolerance: float = 0
    """Half a printed digit, or what the text leaves open."""


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """A paper's table of nets."""

    title: str
    nets: tuple[PublishedNet, ...]
    count: "Callable[[Model], int]"
    """Counts parameters as the paper does."""
    note: str
    """One sentence on how the paper counts."""
    millions: bool = False
    """Whether the paper prints millions."""
