"""A class for plugins' games to derive from."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from zerogames_kernels import Pattern

from zerogames.game import Game, Solver, State
from zerogames.identity import format_identity
from zerogames.nets.names import parse_net_name
from zerogames.nets.published import PublishedTable
from zerogames.nets.spec import NetSpec
from zerogames.picture import find_cells


class BaseGame:
    """Defaults that suit most games; a plugin overrides what it has to say more about."""

    def __init__(self, name: str, options: Any) -> None:
        self.name = name
        self.options = options

    @property
    def identity(self) -> str:
        """Name and non-default options."""
        return format_identity(self.name, self.options)

    @property
    def sides(self) -> tuple[str, str]:
        """The players as their order names them."""
        return "the first player", "the second player"

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """None of its own: full squares and random patterns only."""
        return {}

    def parse_net(self, name: str) -> NetSpec:
        """Read a name of the general form; see `zerogames.nets.names`."""
        return parse_net_name(name, cast(Game, self))

    @property
    def default_net(self) -> str:
        """A small residual net."""
        return "res_3x3_4x32"

    @property
    def published_nets(self) -> Sequence[PublishedTable]:
        """None."""
        return ()

    def sensible_actions(self, state: State, net: NetSpec | None = None) -> Sequence[int] | None:
        """All legal ones."""
        return None

    def notation(self, state: State, action: int) -> str:
        """The text that `parse_action` reads, too."""
        return cast(Game, self).format_action(state, action)

    def action_cells(self, state: State, action: int, names: Collection[str]) -> Sequence[str]:
        """Those whose names are in the text of the move."""
        return find_cells(cast(Game, self).format_action(state, action), names)

    def new_solver(self) -> Solver | None:
        """None: most games are not solved."""
        return None

    def __repr__(self) -> str:
        return f"<game {self.identity}>"
