"""`zerogames nnue features`: what is in a feature set."""

from typing import Annotated

import chess
import tyro
from rich.console import Console
from rich.table import Table

from zerogames.errors import UserError
from zerogames_chess.nnue.feature_set import BLOCKS, FeatureSet


def features(
    name: Annotated[str, tyro.conf.Positional] = "",
    /,
    *,
    fen: str = "",
) -> int:
    """Show the blocks of a feature set, or the features of a position.

    Args:
        name: The set, such as `piece+h+v`; all blocks if left out.
        fen: List what is active in this position, for both sides.
    """
    console = Console()
    if fen:
        _show_active(console, FeatureSet(name or "piece"), fen)
        return 0
    table = Table("block", "features", "dead", "at most active")
    blocks = FeatureSet(name).blocks if name else [*BLOCKS.values(), *FeatureSet("toppp:64").blocks]
    for block in blocks:
        table.add_row(
            block.name, f"{block.size:,}", f"{len(block.dead):,}", f"{block.max_active:,}"
        )
    if name:
        whole = FeatureSet(name)
        dead = f"{len(whole.dead):,}"
        table.add_row(whole.name, f"{whole.size:,}", dead, f"{whole.max_active:,}", style="bold")
    console.print(table)
    return 0


def _show_active(console: Console, features: FeatureSet, fen: str) -> None:
    try:
        board = chess.Board(fen)
    except ValueError as error:
        raise UserError(f"FEN: {error}") from None
    if not board.is_valid():
        raise UserError("FEN: the position is not legal")
    for pov, name in ((chess.WHITE, "White"), (chess.BLACK, "Black")):
        console.print(f"[bold]{name}'s view[/bold]")
        for index in sorted(set(features.active(board, pov))):
            console.print(f"  {index:>6}  {features.describe(index)}", highlight=False)
