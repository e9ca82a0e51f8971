"""OpenSpiel's games by way of Python, such as `openspiel:game=y(board_size=5)`.

The plugin is in `zerogames_openspiel.plugin`; everything else needs the extra `openspiel`.
"""
