"""A game-agnostic AlphaZero framework: games are plugins, everything else is here.

    net = zerogames.load_net("shipped", "chess")
    print(zerogames.run_search(net, "startpos moves e2e4", nodes=400).best_move)

`docs/python.md` is the guide to the names here.
"""

from typing import TYPE_CHECKING

from zerogames.lazy import import_on_use
from zerogames.version import __version__

if TYPE_CHECKING:
    from zerogames.base_game import BaseGame
    from zerogames.data.record import GameRecord
    from zerogames.errors import UserError
    from zerogames.evaluate import open_evaluator
    from zerogames.export import ExportOptions, export_net
    from zerogames.game import (
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
    from zerogames.library.evaluation import (
        PositionEvaluation,
        evaluate_position,
        evaluate_positions,
    )
    from zerogames.library.games import play_games, read_games, write_games
    from zerogames.library.net import Net, load_net
    from zerogames.library.search import SearchedMove, SearchResult, run_search
    from zerogames.library.training import make_batch
    from zerogames.native import get_include
    from zerogames.nets import save_net
    from zerogames.picture import BoardPicture, Picture, Piece
    from zerogames.registry import game_names, get_game, get_plugin
    from zerogames.search import PoolSettings, SearchSettings, search_preset
    from zerogames.train import Trainer, TrainerSettings
else:
    # `import zerogames` takes a hundredth of a second: a name is imported when it is used.
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "base_game": ("BaseGame",),
            "data.record": ("GameRecord",),
            "errors": ("UserError",),
            "evaluate": ("open_evaluator",),
            "export": ("ExportOptions", "export_net"),
            "game": (
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
            "library.evaluation": ("PositionEvaluation", "evaluate_position", "evaluate_positions"),
            "library.games": ("play_games", "read_games", "write_games"),
            "library.net": ("Net", "load_net"),
            "library.search": ("SearchedMove", "SearchResult", "run_search"),
            "library.training": ("make_batch",),
            "native": ("get_include",),
            "nets": ("save_net",),
            "picture": ("BoardPicture", "Picture", "Piece"),
            "registry": ("game_names", "get_game", "get_plugin"),
            "search": ("PoolSettings", "SearchSettings", "search_preset"),
            "train": ("Trainer", "TrainerSettings"),
        },
    )

__all__ = [
    "BaseGame",
    "BoardPicture",
    "Encoding",
    "ExportOptions",
    "Game",
    "GamePlugin",
    "GameRecord",
    "GameSpec",
    "Heads",
    "Net",
    "Picture",
    "Piece",
    "PolicyMap",
    "PoolSettings",
    "PositionEvaluation",
    "SearchResult",
    "SearchSettings",
    "SearchedMove",
    "State",
    "Symmetry",
    "Trainer",
    "TrainerSettings",
    "UserError",
    "__version__",
    "evaluate_position",
    "evaluate_positions",
    "export_net",
    "game_names",
    "get_game",
    "get_include",
    "get_plugin",
    "load_net",
    "make_batch",
    "open_evaluator",
    "parse_position",
    "play_games",
    "read_games",
    "run_search",
    "save_net",
    "search_preset",
    "write_games",
]
