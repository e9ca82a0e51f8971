"""Tic-tac-toe in pure Python, a game for zerogames."""

from zerogames_tictactoe.tictactoe import game

__all__ = ["game"]
