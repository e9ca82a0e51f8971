"""The library behind the commands: a net, its evaluations, searches, games and training batches.

The names here are re-exported from the package root, so users write `zerogames.load_net`.
"""
