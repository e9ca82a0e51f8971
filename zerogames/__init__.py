"""A game-agnostic AlphaZero framework: games are plugins, everything else is here."""

from typing import TYPE_CHECKING

from zerogames.lazy import import_on_use

__version__ = "0.1.0"

if TYPE_CHECKING:
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
else:
    # `import zerogames` takes a hundredth of a second: a name is imported when it is used.
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "errors": ("UserError",),
            "game": (
                "BaseGame",
                "Encoding",
                "Game",
                "GamePlugin",
                "GameSpec",
                "Heads",
                "PolicyMap",
                "State",
                "Symmetry",
                "parse_position",
            ),
            "native": ("get_include",),
            "picture": ("BoardPicture", "Picture", "Piece"),
            "registry": ("game_names", "get_game", "get_plugin"),
        },
    )

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
