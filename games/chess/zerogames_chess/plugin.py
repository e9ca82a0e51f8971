"""Chess as a plugin: what it offers to the framework."""

from pathlib import Path
from typing import TYPE_CHECKING

from zerogames.game import GamePlugin
from zerogames_chess.chess_game import Chess, ChessOptions

if TYPE_CHECKING:
    from zerogames.data.formats import GameData
    from zerogames.export.formats import ExportFormat
    from zerogames.nets.model import Model


def _game_data(game: Chess) -> "GameData":
    from zerogames_chess.game_data import game_data

    return game_data(game)


def _openings(game: Chess) -> str:
    return "" if game.chess960 else (Path(__file__).parent / "openings.txt").read_text()


def _read_lc0_net(path: Path) -> "Model":
    from zerogames_chess.lc0 import import_lc0

    return import_lc0(path)


def _lc0_format() -> "ExportFormat":
    from zerogames_chess.lc0.export_format import FORMAT

    return FORMAT


game = GamePlugin(
    name="chess",
    title="Chess",
    options=ChessOptions,
    create=Chess,
    data=_game_data,
    openings=_openings,
    net_formats={".pb.gz": _read_lc0_net, ".pb": _read_lc0_net},
    export_formats={"lc0": _lc0_format},
)
