from zerogames_shogi.csa import read_csa as read_csa
from zerogames_shogi.csa import write_csa as write_csa
from zerogames_shogi.plugin import game as game
from zerogames_shogi.shogi_game import Shogi as Shogi
from zerogames_shogi.shogi_game import ShogiOptions as ShogiOptions
