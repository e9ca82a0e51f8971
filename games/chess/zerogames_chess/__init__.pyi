from zerogames_chess.chess_game import Chess as Chess
from zerogames_chess.chess_game import ChessOptions as ChessOptions
from zerogames_chess.pgn import read_pgn as read_pgn
from zerogames_chess.pgn import write_pgn as write_pgn
from zerogames_chess.plugin import game as game
