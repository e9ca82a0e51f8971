"""Turning games into shards or into files of other programs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from zerogames.atomic import write_bytes_atomically
from zerogames.data.formats import get_game_data
from zerogames.data.record import GameRecord
from zerogames.data.shard import write_shard
from zerogames.data.sources import Source
from zerogames.errors import UserError, unknown_name

SHARDS = "shards"


@dataclass(frozen=True, kw_only=True)
class Converted:
    """The result of a conversion."""

    games: int
    files: int


def convert(
    source: Source,
    target: str,
    folder: Path,
    *,
    games_per_shard: int = 1000,
    advance: Callable[[int], None] | None = None,
) -> Converted:
    """Write all games of a data set to a new folder; broken ones go to the source's problems.

    Every file is whole or absent, whenever the work is interrupted. `target` is `shards`, or a
    format that the game writes, such as `lc0`, with one file a game. `advance` is called with the
    number of games so far.
    """
    writers = get_game_data(source.game).writers
    if target != SHARDS and target not in writers:
        raise unknown_name("format to write", target, [SHARDS, *writers])
    if games_per_shard < 1:
        raise UserError(f"{games_per_shard} games per shard is not possible; take 1 or more")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    games = files = 0
    held: list[GameRecord] = []
    for game in source.games():
        try:
            record = game.record()
            data = b"" if target == SHARDS else writers[target].write(record)
        except UserError as error:
            source.problems.add(game.name, str(error))
            continue
        if target == SHARDS:
            held.append(record)
            if len(held) == games_per_shard:
                write_shard(folder / f"shard_{files:06d}.parquet", held)
                files, held = files + 1, []
        else:
            path = folder / f"game_{games:06d}{writers[target].suffix}"
            write_bytes_atomically(path, data)
            files += 1
        games += 1
        if advance is not None:
            advance(games)
    if held:
        write_shard(folder / f"shard_{files:06d}.parquet", held)
        files += 1
    return Converted(games=games, files=files)
