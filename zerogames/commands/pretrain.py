"""Learn from games of others: `zerogames pretrain --game chess --data games.pgn`."""

import dataclasses
import threading
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from zerogames.config import find_config, make_settings, parse_arguments, read_settings, take_option
from zerogames.errors import UserError
from zerogames.identity import split_identity
from zerogames.pretrain.settings import KIND, PretrainSettings
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.display import Display
from zerogames.runs.folder import RunPaths, read_run
from zerogames.runs.signals import stop_on_signals


def main(argv: Sequence[str]) -> int:
    """Run `zerogames pretrain`."""
    return run_pretraining(read_arguments(argv), Console())


def read_arguments(argv: Sequence[str]) -> PretrainSettings:
    """Defaults, then a configuration or the folder's own settings, then the command line."""
    config, rest = take_config(argv)
    game, _ = take_option(rest, "game")
    out, _ = take_option(rest, "out")
    base = _base(config, game, out)
    # What remains of `--game go` must not undo the options that a configuration has.
    if config is not None:
        _, rest = take_option(rest, "game")
    given = {argument.partition("=")[0] for argument in rest}
    if given & {"--minutes", "--steps"}:
        base = dataclasses.replace(base, minutes=None, steps=None)
    return parse_arguments(
        PretrainSettings,
        rest,
        prog="zerogames pretrain",
        base=base,
        description="Supervised training on games of others. The first argument may be a "
        "configuration: a .toml file or the name of one in configs/<game>. The same folder is "
        "continued.",
    )


def take_config(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """Take the configuration out of the arguments: the first, or a file `.toml` anywhere."""
    rest = list(argv)
    if rest and not rest[0].startswith("-"):
        return rest[0], rest[1:]
    for argument in rest:
        if argument.endswith(".toml"):
            rest.remove(argument)
            return argument, rest
    return None, rest


def read_config(config: str, game: str | None) -> PretrainSettings:
    """The settings of a configuration, whose game may be replaced by one with other options."""
    name = split_identity(game or PretrainSettings().game)[0]
    chosen = read_settings(PretrainSettings, find_config(name, config), base=PretrainSettings())
    if split_identity(chosen.game)[0] != name and game is not None:
        raise UserError(f"{config} is for {chosen.game}, not for {game}")
    if game is None or game == name:  # the configuration may have options of the game
        return chosen
    return dataclasses.replace(chosen, game=game)


def _base(config: str | None, game: str | None, out: str | None) -> PretrainSettings:
    if config is not None:
        return read_config(config, game)
    base = PretrainSettings(game=game or PretrainSettings().game)
    path = Path(out) if out else base.folder
    table = read_run(path, KIND) if path.is_dir() else None
    if table is not None:
        earlier = make_settings(PretrainSettings, table["settings"])
        if game in (None, earlier.game):
            return dataclasses.replace(earlier, out=None if out is None else path)
    return base


def run_pretraining(settings: PretrainSettings, console: Console) -> int:
    """Train until a limit, Ctrl-C or an error; what was learnt is on disk afterwards."""
    settings.check()
    from zerogames.pretrain.run import PretrainRun

    stop = threading.Event()
    with (
        name_disk_errors(settings.folder),
        Display(console) as display,
        PretrainRun(settings, display, stop) as run,
        stop_on_signals(stop),
    ):
        run.run()
    _end(run.paths, settings, console, stopped=stop.is_set())
    return 0


def _end(paths: RunPaths, settings: PretrainSettings, console: Console, *, stopped: bool) -> None:
    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    if stopped:
        say("stopped; the same command continues from here")
    say(f"net: {paths.net} (about it: {paths.card})")
    say(f"next: zerogames play --game {settings.game} --net {paths.net}")
