"""The formats a net can be exported to.

A format is an `ExportFormat`. Games offer their own as `GamePlugin.export_formats`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from zerogames.errors import UserError, unknown_name
from zerogames.export.request import ExportOptions, ExportReport, ExportRequest
from zerogames.registry import all_plugins, get_game

if TYPE_CHECKING:
    from zerogames.game import Game
    from zerogames.nets.model import Model

BUILT_IN = {
    "onnx": "zerogames.export.onnx_format",
    "tensorrt": "zerogames.export.tensorrt_format",
    "tensorrt-rtx": "zerogames.export.tensorrt_rtx_format",
    "int8": "zerogames.export.int8_format",
}
"""Modules that hold an `ExportFormat` called `FORMAT`; imported when they are asked for."""


@dataclass(frozen=True, kw_only=True)
class ExportFormat:
    """A way to write nets."""

    suffix: str
    """The ending of its files, e.g. `.onnx`."""
    write: Callable[[ExportRequest], ExportReport]
    """Writes and checks a net. Nothing is left behind if it fails."""
    precisions: tuple[str, ...] = ("fp32",)
    """The precisions of the format, the default first."""
    plugin_op: bool = False
    """Whether it has the option of that name."""
    calibration: bool = False
    """Whether it has the option of that name."""


def format_names() -> list[str]:
    """All formats."""
    return [*BUILT_IN, *_plugin_formats()]


def _plugin_formats() -> dict[str, Callable[[], ExportFormat]]:
    return {name: load for plugin in all_plugins() for name, load in plugin.export_formats.items()}


def find_format(name: str) -> ExportFormat:
    """Load a format; an unknown name is a `UserError` with the known ones."""
    if name in BUILT_IN:
        return cast(ExportFormat, importlib.import_module(BUILT_IN[name]).FORMAT)
    formats = _plugin_formats()
    if name not in formats:
        raise unknown_name("format", name, format_names())
    return formats[name]()


def export_net(
    net: "Model | str | PathLike[str]",
    out: str | Path | None = None,
    *,
    format: str = "onnx",
    game: "Game | str | None" = None,
    options: ExportOptions | None = None,
) -> ExportReport:
    """Write a net for other programs, and check that the file gives the net's answers.

    Args:
        net: A net file (ours or of another program, such as `.pb.gz`), or a model.
        out: The file to write; by default it lies beside the net, or here for a model.
        format: One of `format_names()`.
        game: Another board size of the net's game, for nets that serve any board.
        options: How to export it; by default in the format's first precision.

    Raises:
        UserError: if the format has no such option, or the file would not agree with the net.
    """
    from zerogames.nets.file import describe_net, load_net
    from zerogames.nets.foreign import resolve_net

    chosen, options = _check_options(format, options or ExportOptions())
    if isinstance(game, str):
        game = get_game(game)
    if isinstance(net, str | PathLike):
        source, named = Path(net), str(Path(net))
        model, info = load_net(resolve_net(source), game=game)
    else:
        source, named = None, net.spec.name
        model, info = net, describe_net(net)
    path = Path(out) if out else default_path(named, format, options)
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: there is no such folder")
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file")
    return chosen.write(
        ExportRequest(
            model=model,
            game=game or get_game(model.spec.game),
            info=info,
            out=path,
            options=options,
            source=source,
        )
    )


def default_path(net: str, format: str, options: ExportOptions) -> Path:
    """Return where the export of a file or a name is written: beside the file, or here."""
    from zerogames.nets.foreign import net_suffixes

    chosen, path = find_format(format), Path(net)
    ending = next((end for end in net_suffixes() if path.name.endswith(end)), "")
    parts = [path.name.removesuffix(ending)]
    if options.precision not in ("", chosen.precisions[0]):
        parts.append(options.precision)
    if options.plugin_op:
        parts.append("plugin")
    return path.with_name(".".join(parts) + chosen.suffix)


def _check_options(format: str, options: ExportOptions) -> tuple[ExportFormat, ExportOptions]:
    chosen = find_format(format)
    precision = options.precision or chosen.precisions[0]
    if precision not in chosen.precisions:
        raise unknown_name(f"precision of {format}", precision, chosen.precisions)
    if options.plugin_op and not chosen.plugin_op:
        raise UserError(f"--plugin-op is for onnx and tensorrt, not for {format}")
    if options.calibration and not chosen.calibration:
        raise UserError(f"--calibration is for int8, not for {format}")
    return chosen, replace(options, precision=precision)
