"""NNUE for chess: feature sets, data, training, and an engine."""

from collections.abc import Callable, Sequence

import tyro

from zerogames_chess.nnue.describe import features


def main(argv: Sequence[str]) -> int:
    """Run `zerogames nnue`."""
    commands: dict[str, Callable[..., int]] = {"features": features}
    return int(
        tyro.extras.subcommand_cli_from_dict(
            commands,
            args=argv,
            prog="zerogames nnue",
            description="NNUE for chess: feature sets, data, training, and an engine.",
        )
    )
