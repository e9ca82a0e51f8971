"""Nets by the text that names them, for every command that takes one.

A net is named by

- the name of an architecture, such as `mob_krb_6x96`: a new net with random weights;
- a file, ours (`.safetensors`) or another program's (such as `.pb.gz`);
- `shipped`: the net in the package of the game's plugin that fits the board best;
- `newest`: the net of the runs in `runs/` that was written last;
- nothing: the newest one, else the shipped one, for commands that play.

A plugin ships nets as files `nets/*.safetensors` in its package; what a net plays is read from the
file, so the files' names are free.
"""

import hashlib
import importlib.resources
import os
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from zerogames.atomic import write_bytes_atomically
from zerogames.cache import cached_file
from zerogames.errors import UserError
from zerogames.game import Game, GameSpec
from zerogames.nets.foreign import OWN_SUFFIX, net_suffixes, resolve_net
from zerogames.nets.head_kinds import serves_any_board
from zerogames.nets.net_info import NetInfo, read_net_info
from zerogames.registry import get_game, plugin_package
from zerogames.runs.folder import NET_NAME

if TYPE_CHECKING:
    from zerogames.nets.model import Model

RUNS = Path("runs")
"""The folder in which commands keep their runs, below the working directory."""
SHIPPED, NEWEST = "shipped", "newest"


@dataclass(frozen=True, kw_only=True)
class NetSource:
    """A net that was named; the methods load or make it."""

    origin: str
    """Text for people: `file`, `newest run, runs/go-train`, `shipped with the game`, a new net."""
    path: Path | None = None
    """The file, ours or another program's; None for a new net."""
    name: str = ""
    """The architecture of a new net."""
    game: Game | None = None
    """The game of a new net; for a file None, or the game in which it is to be used."""

    @property
    def title(self) -> str:
        """The file and how it was found if it was not named, or the new net."""
        if self.path is None:
            return self.origin
        return str(self.path) if self.origin == "file" else f"{self.path} ({self.origin})"

    def load(self, *, seed: int = 0) -> "tuple[Model, NetInfo]":
        """The net and what its file says, or would say; `seed` decides a new net's weights."""
        from zerogames.nets import build_model, load_net
        from zerogames.nets.file import describe_net

        if self.path is not None:
            return load_net(resolve_net(self.path), game=self.game)
        assert self.game is not None
        model = build_model(self.game.parse_net(self.name), self.game, seed=seed).eval()
        return model, describe_net(model)

    def file(self) -> Path:
        """A file of ours; that of a new or foreign net is made once and cached."""
        if self.path is not None:
            return resolve_net(self.path)
        assert self.game is not None
        digest = hashlib.sha256(f"{self.game.spec.identity} {self.name}".encode()).hexdigest()
        return cached_file(f"new-{digest[:16]}-v1.safetensors", self.write)

    def write(self, path: Path, *, seed: int = 0) -> None:
        """Write the net to a file, once it is known to fit the game; the file may be its own."""
        model, _ = self.load(seed=seed)
        if self.path is None:
            from zerogames.nets import save_net

            save_net(path, model)
        elif not (path.exists() and path.samefile(self.path)):
            write_bytes_atomically(path, resolve_net(self.path).read_bytes())


def find_net(text: str | Path | None, game: Game | None = None, *, runs: Path = RUNS) -> NetSource:
    """Find the net that a user named.

    `text` is a name, a file, `shipped`, `newest`, or nothing; see the module. All forms but a file
    need the game; for a file it may be another board size. Raises `UserError` if there is no such
    net, or one of our files is for another game.
    """
    given = str(text) if text else ""
    if given in ("", SHIPPED, NEWEST):
        if game is None:
            raise UserError("say which game the net is for, with --game")
        found = default_net(game, given, runs=runs)
        if found is None:
            place = {SHIPPED: "comes with the game", NEWEST: f"is in {runs}"}.get(given, "is here")
            raise UserError(
                f"there is no net for {game.spec.identity} that {place}; train one "
                f"(`zerogames train --game {game.spec.identity}`) or give its file"
            )
        return found
    path = Path(given)
    if path.is_file():
        # Other programs' files are checked when they are loaded.
        if game is not None and path.suffix == OWN_SUFFIX:
            info = read_net_info(path)
            if info.game.partition(":")[0] != game.spec.name:
                raise UserError(f"{path} is a net for {info.game}, not for {game.spec.identity}")
        return NetSource(origin="file", path=path, game=game)
    check_net_text(given)
    if game is None:
        if path.is_dir():
            raise UserError(f"'{given}' is a folder; name a net file")
        raise UserError(f"there is no net file '{given}'; for a name add --game")
    name = game.parse_net(given).name
    return NetSource(origin=f"new random net {name}", name=name, game=game)


def check_net_text(text: str) -> None:
    """Refuse a file that is not there, before the game of the net is known."""
    is_path = os.sep in text or text.endswith(net_suffixes())
    if is_path and Path(text).is_dir():
        raise UserError(f"'{text}' is a folder; name a net file")
    if is_path and not Path(text).is_file():
        raise UserError(f"there is no net file '{text}'; train one or give its path")


def default_net(game: Game, word: str = "", *, runs: Path = RUNS) -> NetSource | None:
    """Find the net that plays if none is named: the newest run's, else the shipped one.

    With a word (`newest` or `shipped`) only this one is considered.
    """
    if word != SHIPPED and (path := newest_run_net(game, runs=runs)) is not None:
        return NetSource(origin=f"newest run, {path.parent}", path=path, game=game)
    if word != NEWEST and (path := shipped_net(game)) is not None:
        return NetSource(origin="shipped with the game", path=path, game=game)
    return None


def check_resumed_net(text: str | None, trained: str, run: Path, game: Game) -> None:
    """Refuse to continue a run, which trains the net `trained`, under the name of another one.

    A file as `text`, what the user named, says only how the run began.
    """
    if not text or text in (SHIPPED, NEWEST):
        return
    if Path(text).is_file() or text.endswith(net_suffixes()):
        return
    if game.parse_net(text).name != trained:
        raise UserError(
            f"{run} trains the net {trained}, not {text}; give another folder with --out"
        )


def newest_run_net(game: Game, *, runs: Path = RUNS) -> Path | None:
    """Return the net written last of the runs of exactly this game."""
    nets = sorted(runs.glob(f"*/{NET_NAME}"), key=_written_at, reverse=True)
    return next((net for net in nets if _fit(net, game) == "exactly"), None)


def shipped_net(game: Game) -> Path | None:
    """Return the packaged net that plays this game best.

    One made for exactly this game, else for other rules on the same board, else one that serves any
    board and was made for the next larger one.
    """
    nets = _packaged_nets(type(game).__module__)
    for fit in ("exactly", "in shape"):
        for net in nets:
            if _fit(net, game) == fit:
                return net
    larger = {net: _larger_board(net, game) for net in nets}
    return min(filter(larger.get, nets), key=larger.__getitem__, default=None)


def shipped_identities(name: str) -> list[str]:
    """Return the games of the plugin called `name` for which its package has nets."""
    found = [read_net_info(net).game for net in _packaged_nets(plugin_package(name)[1])]
    return [identity for identity in found if identity.partition(":")[0] == name]


def _packaged_nets(module: str) -> list[Path]:
    folder = Path(str(importlib.resources.files(module.partition(".")[0]) / "nets"))
    return sorted(folder.glob("*.safetensors"))


def _fit(net: Path, game: Game) -> str:
    """Tell how a net fits: `exactly`, `in shape` (the same board, other rules) or not at all."""
    made_for = _made_for(net)
    if made_for is None:
        return ""
    if made_for.identity == game.spec.identity:
        return "exactly"
    shape = (made_for.name, made_for.action_size, made_for.observation_shape)
    spec = game.spec
    return "in shape" if shape == (spec.name, spec.action_size, spec.observation_shape) else ""


def _larger_board(net: Path, game: Game) -> int:
    """The cells of the board that a net for any board was made for, 0 if it is smaller."""
    made_for = _made_for(net)
    if made_for is None or made_for.name != game.spec.name:
        return 0
    try:
        spec = game.parse_net(read_net_info(net).name)
    except UserError:
        return 0
    cells, wanted = (prod(one.observation_shape[1:]) for one in (made_for, game.spec))
    return cells if cells >= wanted and serves_any_board(spec, game) else 0


def _made_for(net: Path) -> GameSpec | None:
    """The game in a net's file; None for half a net, or of a game that is not installed."""
    try:
        return get_game(read_net_info(net).game).spec
    except UserError:
        return None


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
