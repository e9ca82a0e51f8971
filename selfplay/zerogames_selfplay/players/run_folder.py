"""A run's folder: its net, its shards, and what was asked for."""

from dataclasses import dataclass
from pathlib import Path

from zerogames.atomic import write_bytes_atomically
from zerogames.config import to_table
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.runs import folder
from zerogames_selfplay.players.settings import SelfplaySettings

KIND = "selfplay"


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """Paths of a run; `session` counts how often it was started."""

    path: Path
    session: int

    @property
    def net(self) -> Path:
        """The net that plays."""
        return self.path / folder.NET_NAME

    @property
    def shards(self) -> Path:
        """Folder of the records."""
        return self.path / "shards"


def open_run(settings: SelfplaySettings, game: Game) -> RunFolder:
    """Make or continue a run's folder."""
    path = settings.out or folder.default_folder(settings.game, KIND)
    run = folder.open_run(path, kind=KIND, game=game.spec.identity, settings=to_table(settings))
    with run:
        run.begin()
        return RunFolder(path=path, session=run.session)


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
