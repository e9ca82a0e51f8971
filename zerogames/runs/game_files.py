"""The finished games of a run on disk: shards, and journals of the games that are in no shard yet.

A journal has the name of the shard that its games will be in. Once there is that shard, the journal
has nothing more to say: so no game is read twice, and none is missing, wherever a process died.
"""

from pathlib import Path

from zerogames.data import GameRecord
from zerogames.data.packed_games import unpack_games
from zerogames.data.shard import SUFFIX, read_shard, shard_paths, write_shard
from zerogames.errors import UserError
from zerogames.runs.journal import read_journal

JOURNAL_SUFFIX = ".journal"


def game_files(folder: Path) -> list[Path]:
    """All files below `folder` that hold finished games: shards first, then journals."""
    shards = shard_paths(folder)
    return shards + _journals(folder, {path.with_suffix("") for path in shards})


def _journals(folder: Path, known: set[Path]) -> list[Path]:
    found = (path for path in folder.rglob(f"*{JOURNAL_SUFFIX}") if not path.name.startswith("."))
    return sorted(path for path in found if path.with_suffix("") not in known)


def read_games(path: Path) -> tuple[list[GameRecord], str]:
    """The games of a shard or a journal, and what is wrong with the file; empty if nothing is.

    Raises:
        UserError: for a shard that is damaged anywhere. A journal gives what is whole.
    """
    if path.suffix != JOURNAL_SUFFIX:
        return read_shard(path), ""
    try:
        contents = read_journal(path)
    except FileNotFoundError:
        return read_shard(path.with_suffix(SUFFIX)), ""  # It was made from the journal just now.
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    records: list[GameRecord] = []
    damaged = contents.num_damaged
    for entry in contents.entries:
        try:
            records += unpack_games(entry)
        except UserError:
            damaged += 1
    if not damaged:
        return records, ""
    return records, f"{path}: {damaged} damaged {'entry' if damaged == 1 else 'entries'} left out"


def compact_journals(folder: Path, *, set_aside: Path, prefix: str = "") -> list[str]:
    """Make shards of the journals that ended processes have left; what a person should know.

    Args:
        folder: Folder of the shards; nobody else may write journals with this prefix now.
        set_aside: Folder that journals with damaged entries are moved to.
        prefix: First part of the names.
    """
    notes = []
    for path in sorted(folder.glob(f"{prefix}*{JOURNAL_SUFFIX}")):
        shard = path.with_suffix(SUFFIX)
        problem = ""
        if not shard.exists():
            records, problem = read_games(path)
            if records:
                write_shard(shard, records)
                notes.append(f"{len(records):,} games of a killed session are in {shard}")
        if problem:
            notes.append(f"{problem}, see {set_aside}")
            set_aside.mkdir(parents=True, exist_ok=True)
            path.replace(set_aside / path.name)
        else:
            path.unlink()
    return notes
