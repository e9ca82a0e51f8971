"""Play against a net in the terminal: `zerogames play --game connect4`."""

import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.console import Console

from zerogames.arguments import read_options
from zerogames.errors import UserError
from zerogames.game import Game, parse_position
from zerogames.registry import get_game

if TYPE_CHECKING:
    from zerogames.play.adviser import Adviser


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """Play against a net, with a drawn board, hints and taking back."""

    game: str = "chess"
    """The game with its options, e.g. go:size=9."""
    net: str | None = None
    """A net file, `newest` (of the runs in `runs`), `shipped` or the name of a new net; by default
    the newest, else the shipped one, else plain MCTS plays."""
    side: Literal["first", "second", "random"] = "first"
    """Your side: first is White in chess, Black in Go and Othello, red in Connect Four."""
    level: int = 7
    """The strength of the opponent, from 1 (beginner) to 10 (full)."""
    nodes: int = 0
    """The strength as nodes of the search for each move; 0 takes the level's."""
    position: str = ""
    """The position to start from, as the game writes positions, optionally with `moves ...` after
    it."""
    precision: Literal["fp32", "int8"] = "fp32"
    """The net's precision: int8 is faster on CPUs with VNNI, slower on others, and rounds."""
    seed: int | None = None
    """The seed of everything random; by default another one each time."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames play`: games until the person leaves."""
    options = read_options(PlayOptions, argv, "zerogames play")
    from zerogames.engine.levels import LEVELS
    from zerogames.play.dialogue import Dialogue, choose_side
    from zerogames.play.table import Table

    if not 1 <= options.level <= len(LEVELS):
        raise UserError(f"--level {options.level}: write a number from 1 to {len(LEVELS)}")
    if options.nodes < 0:
        raise UserError(f"--nodes {options.nodes}: write how many nodes a move takes")
    game = get_game(options.game)
    start = parse_position(game, options.position)
    if start.result is not None:
        raise UserError("the game is over in this position; give another one")
    rng = random.Random(options.seed)
    adviser = _adviser(game, options, rng.getrandbits(32))
    adviser.set_level(options.level)
    if options.nodes:
        adviser.nodes, adviser.temperature = options.nodes, 0.0
    table = Table(game, start, choose_side(options.side, rng), ("you", adviser.name))
    if sys.stdin.isatty():
        import readline  # noqa: F401  gives `input` a history and arrow keys
    dumb = not sys.stdout.isatty() or "NO_COLOR" in os.environ
    console = Console(no_color=dumb, color_system=None if dumb else "truecolor")
    Dialogue(table, adviser, console, rng=rng).run()
    return 0


def _adviser(game: Game, options: PlayOptions, seed: int) -> "Adviser":
    from zerogames.engine import EngineSettings, NetEngine
    from zerogames.play.adviser import NetAdviser, RolloutAdviser
    from zerogames.runs.net_source import default_net, find_net
    from zerogames.search.settings import search_preset

    source = find_net(options.net, game) if options.net else default_net(game)
    if source is None:
        return RolloutAdviser(game, nodes=1, seed=seed)
    settings = EngineSettings(
        precision=options.precision,
        threads=os.cpu_count() or 1,
        search=search_preset("engine", cache_mebibytes=64),
    )
    engine = NetEngine.open(game, source.path or source.name, settings)
    return NetAdviser(source.title, engine, nodes=1, seed=seed)
