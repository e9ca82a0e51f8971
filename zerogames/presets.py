"""Presets: TOML files `configs/<game>/<name>.toml` with settings of a command.

Beside the settings a file may say which `command` it is for, and which `nets`; the first of them is
the default. Each table of `for_nets` has settings for the nets that match one of its own `nets`,
which may be patterns such as `*_18x192`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from zerogames.config import make_settings, merge_tables, read_toml
from zerogames.errors import UserError, unknown_name
from zerogames.identity import split_identity

T = TypeVar("T")


@dataclass(frozen=True)
class Preset:
    """A file of settings of one command."""

    path: Path

    @cached_property
    def _table(self) -> dict[str, Any]:
        return read_toml(self.path)

    @property
    def nets(self) -> tuple[str, ...]:
        """The nets that the preset is for; it serves others too."""
        return _names(self._table.get("nets", []), f"{self.path}: nets")

    def serves(self, command: str | None) -> bool:
        """Whether the preset is for the command (or any, if None); a file need not say it."""
        return command is None or bool(self._table.get("command", command) == command)

    def settings(
        self, kind: type[T], *, command: str, game: str | None = None, net: str | None = None
    ) -> T:
        """The settings for a net, by default for the preset's own; a wrong key is named.

        The name of a game leaves its options to the preset: `go` with a preset for `go:size=9`.
        """
        if not self.serves(command):
            meant = self._table["command"]
            raise UserError(
                f"{self.path} is a preset of `zerogames {meant}`, not of `zerogames {command}`"
            )
        names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        about = {"command", "nets", "for_nets"} - names
        table = {key: value for key, value in self._table.items() if key not in about}
        if "net" in names:
            table = self._for_net(table, net or table.get("net") or next(iter(self.nets), None))
        try:
            settings: Any = make_settings(kind, table)
        except UserError as error:
            raise UserError(f"{self.path}: {error}") from None
        if game is None or game == split_identity(settings.game)[0]:
            return cast(T, settings)
        if split_identity(game)[0] != split_identity(settings.game)[0]:
            raise UserError(f"the preset {self.path.stem} is for {settings.game}, not for {game}")
        return cast(T, replace(settings, game=game))

    def _for_net(self, table: dict[str, Any], net: str | None) -> dict[str, Any]:
        """The table with what differs for the net, if the preset names one."""
        if net is None:
            return table
        table = table | {"net": net}
        for entry in self._table.get("for_nets", []):
            if not isinstance(entry, dict):
                raise UserError(f"{self.path}: for_nets: write a table, [[for_nets]]")
            patterns = _names(entry.get("nets"), f"{self.path}: for_nets.nets")
            if any(fnmatchcase(net, pattern) for pattern in patterns):
                table = merge_tables(table, {k: v for k, v in entry.items() if k != "nets"})
        return table


def _names(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise UserError(f"{where}: write a list of names of nets")
    return tuple(value)


def config_folders() -> list[Path]:
    """Where presets are looked for: the checkout's folder, then the packaged copy."""
    package = Path(__file__).resolve().parent
    folders = [package.parent / "configs", package / "configs"]
    return [folder for folder in folders if folder.is_dir()]


def find_preset(name: str, *, command: str | None = None, game: str | None = None) -> Preset:
    """A preset by its name, or by the path of a file `.toml`.

    A name is looked for among the presets of the game, then among those of all games.
    """
    given = Path(name)
    if given.suffix == ".toml":
        if given.is_file():
            return Preset(given)
        raise UserError(f"{given}: no such file")
    wanted = None if game is None else split_identity(game)[0]
    found = {
        folder: preset
        for (folder, stem), preset in _all_presets().items()
        if stem == name and preset.serves(command)
    }
    if wanted in found:
        return found[wanted]
    if not found:
        of = f" of `zerogames {command}`" if command else ""
        raise unknown_name(f"preset{of}", name, preset_names(command))
    if len(found) > 1:
        games = " and ".join(sorted(found))
        raise UserError(f"the preset {name} exists for {games}; say for which with --game")
    return next(iter(found.values()))


def default_preset(names: Sequence[str], *, command: str, game: str | None) -> Preset | None:
    """The first of these presets that the game has for the command."""
    presets = _all_presets() if names else {}
    for name in names:
        preset = presets.get((split_identity(game or "")[0], name))
        if preset is not None and preset.serves(command):
            return preset
    return None


def preset_names(command: str | None) -> list[str]:
    """The names of the presets of a command, of all games."""
    return sorted({name for (_, name), one in _all_presets().items() if one.serves(command)})


def _all_presets() -> dict[tuple[str, str], Preset]:
    """All presets by game and name."""
    paths = [path for folder in config_folders() for path in sorted(folder.glob("*/*.toml"))]
    # What stands in the first folder hides what has the same name in the second.
    return {(path.parent.name, path.stem): Preset(path) for path in reversed(paths)}
