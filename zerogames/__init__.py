"""A game-agnostic AlphaZero framework: games are plugins, everything else is here.

    net = zerogames.load_net("shipped", "chess")
    print(zerogames.run_search(net, "startpos moves e2e4", nodes=400).best_move)

`docs/python.md` is the guide to the names here.
"""

from zerogames.lazy import import_on_use

# `import zerogames` takes a hundredth of a second: a name is imported when it is used.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
