"""Show a net (layers, parameters, arithmetic), game records or a preset: `zerogames info PATH`."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Table

from zerogames.arguments import read_options
from zerogames.config import read_toml
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.presets import find_preset
from zerogames.registry import game_names, get_game

if TYPE_CHECKING:
    from zerogames.nets.model import Model
    from zerogames.nets.net_info import NetInfo
    from zerogames.nets.program import Layer
    from zerogames.nets.published import PublishedTable
    from zerogames.nets.summary import Summary


def main(argv: Sequence[str]) -> int:
    """Run `zerogames info`."""
    return read_options(info, argv, "zerogames info")


def info(
    net: Annotated[str, tyro.conf.Positional] = "",
    /,
    *,
    game: str = "",
    preset: str = "",
    papers: bool = False,
    export: Path | None = None,
) -> int:
    """Show a net's layers, parameters, arithmetic and memory, or statistics of game records.

    Args:
        net: A net file, a record file, a folder of records, or with `--game` the name of a net
            such as `mob_krb_6x96`, `newest` or `shipped`; the game's default net if left out.
        game: The game of a name; for a file, another board size of its game.
        preset: Show a preset: which command and nets it is for, and its settings.
        papers: Print the published sizes of the papers' nets beside ours.
        export: Write the games of records to this file; its suffix names the format (pgn, sgf,
            txt), or to a folder of Lc0's chunks (`games.lc0`, chess).
    """
    console = Console()
    if preset:
        chosen = find_preset(preset, game=game or None)
        read_toml(chosen.path)  # says what is wrong with a damaged one
        console.print(f"{chosen.path}\n", highlight=False, soft_wrap=True)
        console.print(chosen.path.read_text(encoding="utf-8"), markup=False, soft_wrap=True)
        return 0
    if papers:
        _print_papers(console)
        return 0
    path = Path(net) if net else None
    if path is not None and (path.is_dir() or path.suffix == ".parquet"):
        from zerogames.commands._records import show_records

        return show_records(console, path, export)
    if export is not None:
        raise UserError("--export is for game records")
    if not net and not game:
        raise UserError("name a net file, or a game with --game (and a net), or --papers")
    from zerogames.runs.net_source import find_net

    played = get_game(game) if game else None
    source = find_net(net or (played.default_net if played else None), played)
    model, described = source.load()
    _print_net(console, model, described if source.path else None)
    return 0


def _print_net(console: Console, model: "Model", described: "NetInfo | None") -> None:
    from zerogames.nets.file import describe_heads
    from zerogames.nets.head_kinds import serves_any_board
    from zerogames.nets.summary import summarize

    spec, summary = model.spec, summarize(model)
    console.print(_layer_table(summary))
    table = Table(title=spec.name, show_header=False, title_style="bold")
    table.add_row("game", spec.game)
    shape = "x".join(map(str, model.input_shape))
    table.add_row("input", f"{spec.encoding}, {shape} planes")
    heads = (f"{head} {kind}" for head, kind in describe_heads(spec).items())
    table.add_row("heads", ", ".join(heads))
    table.add_row("parameters", f"{summary.trainable:,} trainable")
    table.add_row("", f"{summary.with_buffers:,} with moving statistics")
    table.add_row("arithmetic", f"{summary.flops / 1e6:,.1f} MFLOP per position")
    table.add_row("weights", _bytes(summary.weight_bytes))
    table.add_row("activations", f"{_bytes(summary.inference_bytes)} per position, inference")
    table.add_row("", f"{_bytes(summary.training_bytes)} per position, training")
    any_board = serves_any_board(spec, get_game(spec.game))
    table.add_row("board", "any size" if any_board else "this size only")
    if described is not None:
        table.add_row("training steps", f"{described.step:,}")
        for name, value in described.metrics.items():
            table.add_row(name, f"{value:.4g}")
        if described.origin:
            table.add_row("origin", described.origin)
        table.add_row("licence of the data", described.data_licence or "not stated")
    console.print(table)


def _layer_table(summary: "Summary") -> Table:
    table = Table("layer", "kind", "output", "parameters", "MFLOP")
    for name, layer in _collapse(summary.layers):
        table.add_row(
            name,
            layer.kind,
            "x".join(map(str, layer.output.shape)),
            f"{layer.parameters:,}",
            f"{2 * layer.macs / 1e6:.2f}" if layer.macs else "",
        )
    return table


def _collapse(layers: "Sequence[Layer]") -> "Iterator[tuple[str, Layer]]":
    """Layers by block; equal blocks in a row are shown once, e.g. `blocks 0-5 expand`."""

    def block(layer: "Layer") -> str:
        parts = layer.name.split(".")
        return ".".join(parts[:2]) if parts[0] == "blocks" else parts[0]

    blocks = [(name, list(group)) for name, group in groupby(layers, key=block)]

    def shape(entry: "tuple[str, list[Layer]]") -> object:
        name, group = entry
        content = [(x.name.removeprefix(name), x.kind, x.output.shape, x.parameters) for x in group]
        return content if name.startswith("blocks.") else name

    for _, run in groupby(blocks, key=shape):
        (first, group), *others = run
        title = first.replace(".", " ")
        if others:
            title += f"-{others[-1][0].rpartition('.')[2]}"
        for layer in group:
            yield f"{title} {layer.name.removeprefix(first).strip('.')}", layer


def _print_papers(console: Console) -> None:
    for game in map(get_game, game_names()):
        for published in game.published_nets:
            console.print(_paper_table(game, published))
            console.print(published.note, highlight=False)
    console.print(
        "`zerogames info NET --game GAME` prints all true counts of a net.", highlight=False
    )


def _paper_table(game: Game, published: "PublishedTable") -> Table:
    import torch

    from zerogames.nets.model import build_model
    from zerogames.nets.summary import count_trainable

    table = Table("published net", "our name", title=published.title, title_style="bold")
    for heading in ("published", "ours, counted so", "difference", "trainable"):
        table.add_column(heading, justify="right")
    unit, form = (1e6, ".6f") if published.millions else (1, ",.0f")
    for net in published.nets:
        with torch.device("meta"):  # counting needs no memory
            model = build_model(game.parse_net(net.net), game)
        ours = published.count(model)
        table.add_row(
            net.label,
            net.net,
            f"{net.parameters / unit:{'.3f' if published.millions else form}}",
            f"{ours / unit:{form}}",
            f"{(ours - net.parameters) / unit:+{form}}",
            f"{count_trainable(model):,}",
        )
    return table


def _bytes(number: int) -> str:
    return f"{number / 1e6:,.2f} MB" if number >= 1e6 else f"{number / 1e3:,.1f} kB"
