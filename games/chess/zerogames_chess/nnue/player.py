"""The alpha-beta engine as a player of the arena: `nnue:FILE[?hash=MEGABYTES]`, in this process.

`nnue:shipped` is the network that comes with the program.
"""

from pathlib import Path

from zerogames.arena.players import Choice, MoveLimits, PlayerFault, PlayerKind, Position
from zerogames.engine.clock import TimeBudget, TimeManager
from zerogames.errors import UserError, unknown_name
from zerogames.game import Game
from zerogames_chess.nnue.engine import CENTIPAWN, load_engine, moves_to_mate
from zerogames_chess.nnue.network import find_network

_MAX_HASH_MB = 4096
_OVERHEAD_S = 0.03
"""The engine runs inside the match."""


class NnuePlayer:
    """Searches with one network; its table is kept within a game only."""

    def __init__(self, network: Path, hash_mb: int, game: Game) -> None:
        if game.spec.name != "chess":
            raise UserError(f"an NNUE network plays chess, not {game.spec.identity}")
        self._chess960 = "variant=960" in game.spec.identity
        self._engine = load_engine(network, hash_mb=hash_mb)
        self._times = TimeManager(_OVERHEAD_S)

    def new_game(self, position: Position, seed: int) -> None:
        """Forget the game before; nothing here is random."""
        self._engine.new_game()
        self._times.new_game()

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Search by the limit of the match: time for a move, nodes, depth or clocks."""
        game = position.game
        start = position.start or game.format_state(game.initial_state())
        self._engine.set_position(start, list(position.moves), self._chess960)
        budget = self._budget(position, limits)
        found = self._engine.go(
            soft_ms=round(1000 * budget.soft_s),
            move_time_ms=round(1000 * budget.hard_s),
            nodes=limits.nodes or 0,
            depth=limits.depth or 0,
        )
        self._times.moved(found["time_ms"] / 1000)
        if not found["line"]:
            raise PlayerFault("no answer", "stopped before a move was found")
        mate = moves_to_mate(found["score"])
        return Choice(
            action=game.parse_action(position.state, found["line"][0]),
            centipawns=None if mate is not None else found["score"] * 100 / CENTIPAWN,
            mate=mate,
            depth=found["depth"],
            nodes=found["nodes"],
        )

    def close(self) -> None:
        """End a running search."""
        self._engine.stop()

    def _budget(self, position: Position, limits: MoveLimits) -> TimeBudget:
        """Return zero where no time is set."""
        if limits.move_time_s is not None:
            return TimeBudget(limits.move_time_s, limits.move_time_s)
        clock = limits.clock(position.state.to_play)
        if clock is None:
            return TimeBudget(0.0, 0.0)
        return self._times.budget(clock, ply=len(position.actions))


def _parse(argument: str) -> tuple[Path, int]:
    name, _, query = argument.partition("?")
    path, hash_mb = find_network(Path(name)), 16
    for part in query.split("&") if query else []:
        key, _, value = part.partition("=")
        if key != "hash":
            raise unknown_name("setting of an NNUE player", key, ["hash"])
        if not value.isdecimal() or not 1 <= int(value) <= _MAX_HASH_MB:
            raise UserError(f"hash={value} is not a size from 1 to {_MAX_HASH_MB} megabytes")
        hash_mb = int(value)
    if not path.is_file():
        raise UserError(f"there is no network '{path}'; `zerogames nnue train` makes one")
    return path, hash_mb


def _title(argument: str) -> str:
    return _parse(argument)[0].stem


def _make(argument: str, game: Game) -> NnuePlayer:
    path, hash_mb = _parse(argument)
    return NnuePlayer(path, hash_mb, game)


kind = PlayerKind(title=_title, make=_make)
