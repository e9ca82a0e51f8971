"""A game-agnostic AlphaZero framework: games are plugins, everything else is here."""

from zerogames.errors import UserError
from zerogames.game import (
    BaseGame,
    Encoding,
    Game,
    GamePlugin,
    GameSpec,
    Heads,
    PolicyMap,
    State,
    Symmetry,
    parse_position,
)
from zerogames.native import get_include
from zerogames.picture import BoardPicture, Picture, Piece
from zerogames.registry import game_names, get_game, get_plugin

__version__ = "0.1.0"

__all__ = [
    "BaseGame",
    "BoardPicture",
    "Encoding",
    "Game",
    "GamePlugin",
    "GameSpec",
    "Heads",
    "Picture",
    "Piece",
    "PolicyMap",
    "State",
    "Symmetry",
    "UserError",
    "game_names",
    "get_game",
    "get_include",
    "get_plugin",
    "parse_position",
]
