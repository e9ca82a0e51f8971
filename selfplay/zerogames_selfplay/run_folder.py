"""A run's folder: its net, its shards, and what was asked for."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from zerogames import __version__
from zerogames.atomic import write_bytes_atomically, write_text_atomically
from zerogames.config import to_table
from zerogames.data.shard import shard_paths
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames_selfplay.settings import SelfplaySettings

NET_NAME = "net.safetensors"
RUN_NAME = "run.json"


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """Paths of a run; `session` counts how often it was started."""

    path: Path
    session: int

    @property
    def net(self) -> Path:
        """The net that plays."""
        return self.path / NET_NAME

    @property
    def shards(self) -> Path:
        """Folder of the records."""
        return self.path / "shards"


def default_folder(settings: SelfplaySettings) -> Path:
    """`runs/<game>` with characters that every file system takes."""
    name = settings.game.replace(":", "-").replace(",", "-").replace("=", "")
    return Path("runs") / name


def open_run(settings: SelfplaySettings, game: Game) -> RunFolder:
    """Make or continue a run's folder; note what was asked for and from which source."""
    path = settings.out or default_folder(settings)
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; give a folder with --out")
    earlier = _read_run(path)
    if earlier is not None and earlier["game"] != game.spec.identity:
        raise UserError(
            f"{path} holds games of {earlier['game']}, not of {game.spec.identity}; "
            "give another folder with --out"
        )
    session = 0 if earlier is None else int(earlier["session"]) + 1
    try:
        path.mkdir(parents=True, exist_ok=True)
        table = {
            "game": game.spec.identity,
            "session": session,
            "version": __version__,
            "commit": source_commit(),
            "settings": to_table(settings),
        }
        write_text_atomically(path / RUN_NAME, json.dumps(table, indent=2) + "\n")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    return RunFolder(path=path, session=session)


def provide_net(run: RunFolder, settings: SelfplaySettings, game: Game) -> tuple[Path | None, str]:
    """The net to play with, kept in the run's folder, and a sentence about it."""
    if settings.evaluator in ("constant", "random"):
        return None, f"the {settings.evaluator} evaluator (no net)"
    given = settings.net
    if given is None and run.net.exists():
        return run.net, f"net {run.net}"
    if given is not None and Path(given).is_file():
        from zerogames.nets import load_net
        from zerogames.nets.foreign import resolve_net

        file = resolve_net(given)
        load_net(file, game=game)  # refuse a wrong file before it takes the place of a good one
        if not (run.net.exists() and run.net.samefile(file)):
            write_bytes_atomically(run.net, file.read_bytes())
        return run.net, f"net {given}"
    if given is not None and given.endswith(".safetensors"):
        raise UserError(f"{given}: no such file")
    from zerogames.nets import build_model, save_net

    spec = game.parse_net(given or game.default_net)
    save_net(run.net, build_model(spec, game, seed=settings.seed))
    return run.net, f"a new random net {spec.name}, saved as {run.net}"


def _read_run(path: Path) -> dict[str, str | int] | None:
    file = path / RUN_NAME
    if not file.exists():
        if path.is_dir() and shard_paths(path):
            raise UserError(f"{path} holds records but no {RUN_NAME}; give another --out")
        return None
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        return {"game": str(table["game"]), "session": int(table["session"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: damaged ({error}); give another --out") from None


def source_commit() -> str:
    """The commit of the checkout this program runs from, if it does."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
