"""Write a net for other programs: `zerogames export NET --format onnx`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from zerogames.errors import UserError, unknown_name


def main(argv: Sequence[str]) -> int:
    """Run `zerogames export`."""
    return tyro.cli(export, args=argv, prog="zerogames export")


def export(
    net: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NET")],
    /,
    *,
    format: str = "onnx",
    out: Path | None = None,
    precision: str | None = None,
    plugin_op: bool = False,
    plugin_library: Path | None = None,
    game: str = "",
    batch: str = "1,64,256",
    positions: int = 64,
    calibration: tuple[Path, ...] = (),
) -> int:
    """Write a net for other programs, and check that it still says the same.

    Args:
        net: A net file (ours or of another program, such as `.pb.gz`), or with `--game` `newest`,
            `shipped` or the name of a new net with random weights, such as `mob_krb_6x96`.
        format: `onnx`, `int8`, `tensorrt`, `tensorrt-rtx`, for chess `lc0`, or another of a plugin.
        out: Where to; by default beside the net.
        precision: `fp32` or `fp16`; by default the first that the format has.
        plugin_op: Write masked depthwise layers for the TensorRT plugin alone.
        plugin_library: The compiled plugin, for building an engine with `--plugin-op`.
        game: The game of a name; for a file, another board size of its game.
        batch: Positions per call an engine is built for: smallest, best, largest.
        positions: Positions of random games on which the answers are compared with torch's.
        calibration: Records or data files with typical positions, for int8; by default the net
            plays some games against itself.
    """
    from zerogames.export.formats import BatchSizes, ExportRequest, find_format
    from zerogames.registry import get_game
    from zerogames.runs.net_source import find_net

    chosen = find_format(format)
    precision = precision or chosen.precisions[0]
    if precision not in chosen.precisions:
        raise unknown_name(f"precision of {format}", precision, chosen.precisions)
    if plugin_op and not chosen.plugin_op:
        raise UserError(f"--plugin-op is for onnx and tensorrt, not for {format}")
    if calibration and not chosen.calibration:
        raise UserError(f"--calibration is for int8, not for {format}")
    if plugin_library is not None and not plugin_op:
        raise UserError("--plugin-library is for --plugin-op")
    if not 1 <= positions <= 100_000:
        raise UserError(f"--positions must be 1 to 100000, not {positions}")
    sizes = BatchSizes.parse(batch)
    source = find_net(net, get_game(game) if game else None)
    model, info = source.load()
    marks = [precision] if precision != chosen.precisions[0] else []
    marks += ["plugin"] if plugin_op else []
    path = out or _default_path(net, marks, chosen.suffix)
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: there is no such folder")
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file")
    return chosen.write(
        ExportRequest(
            model=model,
            game=get_game(game or model.spec.game),
            info=info,
            out=path,
            precision=precision,
            plugin_op=plugin_op,
            plugin_library=plugin_library,
            batch=sizes,
            positions=positions,
            source=source.path,
            calibration=calibration,
            console=Console(),
        )
    )


def _default_path(net: str, marks: Sequence[str], suffix: str) -> Path:
    from zerogames.nets.foreign import net_suffixes

    path = Path(net)
    if not path.is_file():
        return Path(f"{'.'.join([net, *marks])}{suffix}")
    ending = next((end for end in net_suffixes() if path.name.endswith(end)), "")
    return path.with_name(f"{'.'.join([path.name.removesuffix(ending), *marks])}{suffix}")
