from zerogames_chess.lc0.network import Lc0Net as Lc0Net
from zerogames_chess.lc0.network import read_lc0 as read_lc0
from zerogames_chess.lc0.network import write_lc0 as write_lc0
from zerogames_chess.lc0.transfer import export_lc0 as export_lc0
from zerogames_chess.lc0.transfer import import_lc0 as import_lc0
