"""Chess and Chess960: native rules, Lc0's planes and policy index, PGN."""

from zerogames.game import GamePlugin
from zerogames_chess.chess_game import Chess, ChessOptions
from zerogames_chess.pgn import read_pgn, write_pgn

__all__ = ["Chess", "ChessOptions", "game", "read_pgn", "write_pgn"]

game = GamePlugin(name="chess", title="Chess", options=ChessOptions, create=Chess)
