"""Tree search of one position, pools of self-play games, random rollouts, and their settings."""

from typing import TYPE_CHECKING

from zerogames.lazy import import_on_use

if TYPE_CHECKING:
    from zerogames.search.finished import FinishedGame, take_finished
    from zerogames.search.pool import Pool, PoolGames, new_pool
    from zerogames.search.rollouts import Rollouts, new_rollouts
    from zerogames.search.search import DEFAULT_BATCH, Search, new_search
    from zerogames.search.settings import PoolSettings, SearchPreset, SearchSettings, search_preset
else:
    # Commands import the settings to show their help; the compiled search is loaded when used.
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "finished": ("FinishedGame", "take_finished"),
            "pool": ("Pool", "PoolGames", "new_pool"),
            "rollouts": ("Rollouts", "new_rollouts"),
            "search": ("DEFAULT_BATCH", "Search", "new_search"),
            "settings": ("PoolSettings", "SearchPreset", "SearchSettings", "search_preset"),
        },
    )

__all__ = [
    "DEFAULT_BATCH",
    "FinishedGame",
    "Pool",
    "PoolGames",
    "PoolSettings",
    "Rollouts",
    "Search",
    "SearchPreset",
    "SearchSettings",
    "new_pool",
    "new_rollouts",
    "new_search",
    "search_preset",
    "take_finished",
]
