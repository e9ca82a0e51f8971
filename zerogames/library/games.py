"""Games as records: played by a net, read from files, written to files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from zerogames.errors import UserError, unknown_name
from zerogames.game import Game
from zerogames.library.net import Net
from zerogames.registry import get_game
from zerogames.search.settings import PoolSettings, SearchSettings, search_preset

if TYPE_CHECKING:
    from zerogames.data.record import GameRecord
    from zerogames.search import Pool


def play_games(
    net: Net,
    num_games: int | None = None,
    *,
    search: SearchSettings | None = None,
    pool: PoolSettings | None = None,
    seed: int = 0,
) -> "Iterator[GameRecord]":
    """Let a net play against itself, as the command `selfplay` does; yield each game as it ends.

    The games are played in step, so that the net evaluates a large batch at a time; short games
    come first. The same arguments give the same games.

    Args:
        net: From `load_net`.
        num_games: The number of games; by default without an end, until the iterator is closed.
        search: The search of each move; by default the preset `gumbel`, 32 simulations.
        pool: How games begin and end, and how many are played in step.
        seed: Decides everything that is random.
    """
    from zerogames.search.pool import PoolGames, new_pool

    if num_games is not None and num_games < 0:
        raise UserError(f"num_games must be 0 or more, not {num_games}")
    evaluator = net.evaluator
    games = new_pool(
        net.game,
        search or search_preset("gumbel", temperature_plies=20),
        pool or PoolSettings(),
        PoolGames(seed=seed, num_games=num_games),
        encoding=evaluator.encoding,
        needs_observation=evaluator.capabilities.needs_observation,
    )
    return _records(net, games)


def _records(net: Net, games: "Pool") -> "Iterator[GameRecord]":
    from zerogames.search import take_finished

    while not games.done:
        planes = games.collect()
        if len(planes):
            games.apply(*net.evaluator.evaluate(planes))
        for finished in take_finished(games):
            yield finished.record(net.game, net=net.evaluator.version)


def read_games(path: str | Path, game: Game | str) -> "Iterator[GameRecord]":
    """Read games of a file or folder: shards of self-play, PGN, SGF, or what else the game reads.

    Args:
        path: A file, a folder, or an archive of files.
        game: The game or its identity, such as `go:size=9`.

    Raises:
        UserError: with the name of a file that cannot be read.
    """
    from zerogames.data.formats import get_game_data
    from zerogames.data.sources import Source

    game = get_game(game) if isinstance(game, str) else game
    path = Path(path)
    form = path.suffix.removeprefix(".")
    readers = get_game_data(game).readers
    if form in readers and path.is_file():
        yield from readers[form](path.read_bytes())
        return
    for found in Source([path], game, on_problem="stop").games():
        yield found.record()


def write_games(path: str | Path, records: "Iterable[GameRecord]") -> int:
    """Write games to one file; it is whole or absent, whatever happens.

    Args:
        path: Ends in `.parquet` (a shard, with all that the search found), or in an ending of the
            game's own record formats, such as `.pgn` or `.sgf`.
        records: The games, all of one kind.

    Returns:
        The number of games.
    """
    from zerogames.atomic import write_bytes_atomically
    from zerogames.data.formats import get_game_data
    from zerogames.data.shard import SUFFIX, write_shard

    path, games = Path(path), list(records)
    if path.suffix == SUFFIX:
        write_shard(path, games)
        return len(games)
    texts = []
    for record in games:
        writers = get_game_data(get_game(record.game)).writers
        form = path.suffix.removeprefix(".")
        if form not in writers or writers[form].one_per_file:
            known = [name for name, writer in writers.items() if not writer.one_per_file]
            raise unknown_name(f"record format of {record.game}", form, [*known, SUFFIX[1:]])
        texts.append(writers[form].write(record))
    write_bytes_atomically(path, b"\n".join(texts))
    return len(games)
