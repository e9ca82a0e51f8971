"""Lc0's weight files: SE-ResNets in and out."""

from zerogames_chess.lc0.network import Lc0Net, read_lc0, write_lc0
from zerogames_chess.lc0.transfer import export_lc0, import_lc0

__all__ = ["Lc0Net", "export_lc0", "import_lc0", "read_lc0", "write_lc0"]
