"""The command line of a command with settings: a preset or an earlier run, then the options."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, cast

import tyro

from zerogames.arguments import read_options
from zerogames.config import make_settings, to_table
from zerogames.errors import UserError
from zerogames.presets import Preset, default_preset, find_preset, preset_names

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Command(Generic[T]):
    """What a command reads from its command line, and where its defaults come from."""

    name: str
    """The name as it is typed after `zerogames`."""
    settings: type[T]
    description: str = ""
    """What the help says first; by default what the settings' class says of itself."""
    default_presets: tuple[str, ...] = ()
    """The first of these that the game has is taken if none is named."""
    earlier: Callable[[T], T | None] | None = None
    """The settings of the run in the folder that the settings ask for, which is continued."""
    limits: tuple[str, ...] = ()
    """Settings that end a run. One of them on the command line replaces all of the preset's."""
    search_preset: Callable[[str], Any] | None = None
    """Makes the setting `search` from the name of an algorithm; none for commands without it."""
    any_game: bool = False
    """Whether a preset may be played with another game than its own."""


def read_arguments(command: Command[T], argv: Sequence[str]) -> T:
    """Defaults, then a preset or the folder's own settings, then the command line.

    `--preset`, `--game`, `--net`, `--out`, `--search.preset` and `--simulations` decide on the
    defaults of the other options and are read before them.
    """
    early = ["preset"]
    if _game(command.settings()) is not None:
        early += ["game"]
    if command.search_preset is not None:
        early += ["search.preset", "simulations"]
    given, rest = _take_options(argv, early)
    also, _ = _take_options(rest, ("net", "out"))
    preset = None
    if "preset" in given:
        game = given.get("game") or _game(command.settings())
        preset = find_preset(given["preset"], command=command.name, game=game)
    defaults = _defaults(command, preset, given | also)
    names = {argument.partition("=")[0].removeprefix("--") for argument in rest}
    if not names.isdisjoint(command.limits):
        plain = command.settings()
        defaults = _change(defaults, **{name: getattr(plain, name) for name in command.limits})
    if command.search_preset is not None and "search.preset" in given:
        defaults = _change(defaults, search=command.search_preset(given["search.preset"]))
    if "simulations" in given:
        rest += ["--search.simulations", given["simulations"]]
    parsed = _parse(command, rest, defaults, preset)
    return make_settings(command.settings, to_table(parsed))  # checks the numbers


def _change(settings: T, **changes: object) -> T:
    changed: T = replace(cast(Any, settings), **changes)
    return changed


def _game(settings: object) -> str | None:
    return getattr(settings, "game", None)


def _defaults(command: Command[T], preset: Preset | None, given: dict[str, str]) -> T:
    """What the command line changes: a preset, or what the run was started with."""
    game = given.get("game")
    plain = command.settings()
    if game is not None:
        plain = _change(plain, game=game)
    if preset is None and command.earlier is not None:
        asked = _change(plain, out=Path(given["out"])) if "out" in given else plain
        earlier = command.earlier(asked)
        if earlier is not None and game in (None, _game(earlier)):
            return _change(earlier, out=getattr(asked, "out", None))
    if preset is None:
        preset = default_preset(command.default_presets, command=command.name, game=_game(plain))
    if preset is None:
        return plain
    chosen = preset.settings(
        command.settings,
        command=command.name,
        game=None if command.any_game else game,
        net=given.get("net"),
    )
    return _change(chosen, game=game) if command.any_game and game is not None else chosen


def _parse(command: Command[T], argv: Sequence[str], defaults: T, preset: Preset | None) -> T:
    """Let the command line override the defaults; the help shows the options read before, too."""
    helps = _early_helps(command, argv)
    everything = make_dataclass(
        "Everything",
        [
            ("settings", Annotated[command.settings, tyro.conf.arg(name="")]),
            *((name, Annotated[str, about], "") for name, about in helps.items()),
        ],
        frozen=True,
    )
    description = inspect.cleandoc(command.description or command.settings.__doc__ or "")
    if preset is not None and preset.nets:
        description += f" The preset {preset.path.stem} is for the nets {', '.join(preset.nets)}."
    parsed: Any = read_options(
        everything,
        argv,
        f"zerogames {command.name}",
        description=description,
        default=everything(settings=defaults),
    )
    return cast(T, parsed.settings)


def _early_helps(command: Command[Any], argv: Sequence[str]) -> dict[str, Any]:
    """What the help says about the options that were read before, by their names."""
    asked = not {"-h", "--help"}.isdisjoint(argv)
    known = ", ".join(preset_names(command.name) if asked else [])
    texts = {
        "preset": "A file configs/<game>/NAME.toml, or the path of one, with defaults for the "
        "other options." + (f" Those for this command: {known}." if known else "")
    }
    if command.search_preset is not None:
        texts["search.preset"] = "An algorithm with its settings: alphazero, gumbel or katago."
        texts["simulations"] = "Short for --search.simulations."
    return {
        name.replace(".", "_"): tyro.conf.arg(
            name=name,
            help=text,
            help_behavior_hint="",
            metavar="INT" if name == "simulations" else "NAME",
        )
        for name, text in texts.items()
    }


def _take_options(argv: Sequence[str], names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Take `--name VALUE` and `--name=VALUE` out of the arguments."""
    taken: dict[str, str] = {}
    rest: list[str] = []
    arguments = iter(argv)
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or name not in names:
            rest.append(argument)
            continue
        if not equals:
            following = next(arguments, None)
            if following is None:
                raise UserError(f"--{name} needs a value")
            value = following
        taken[name] = value
    return taken, rest
