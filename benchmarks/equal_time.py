"""Nets of several families that take the same time: `python benchmarks/equal_time.py [--help]`.

Of each family, written with `{c}` for the channels, the width is taken at which a position takes
as long as one of the reference net; both take turns, and seconds are the process's own, so that
other work on the machine matters little. One JSON line for each family.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import tyro
from measure import report

from zerogames.evaluate import Evaluator, open_evaluator
from zerogames.export.positions import random_positions
from zerogames.game import Game
from zerogames.nets import build_model, save_net
from zerogames.registry import get_game

FAMILIES = (
    "mob_krb_6x{c}+conv",
    "enc_none_4x{c}h4+conv",
    "enc_static_4x{c}h4+conv",
    "enc_mask_4x{c}h4+conv",
    "enc_smolgen16.64.64_4x{c}h4+conv",
    "mob_krb_3x{c}-enc_mask_3x{c}h4+conv",
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to compare."""

    game: str = "chess"
    reference: str = "res_3x3_6x64+conv"
    families: tuple[str, ...] = FAMILIES
    """Names with `{c}` for the channels, which are multiples of `step`."""
    step: int = 4
    """Channels are multiples of it."""
    largest: int = 512
    """Channels."""
    batch: int = 32
    rounds: int = 5
    """Turns of both nets."""


def make_evaluator(name: str, game: Game, folder: Path) -> Evaluator:
    """Open a new net as it plays on one thread."""
    path = folder / f"{len(list(folder.iterdir()))}.safetensors"
    save_net(path, build_model(game.parse_net(name), game))
    return open_evaluator(game, net=path)


class Comparison:
    """Measures nets against the reference."""

    def __init__(self, options: Options, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.game = get_game(options.game)
        encoding = self.game.parse_net(options.reference).encoding
        self.planes = random_positions(self.game, encoding, options.batch)
        self.reference = make_evaluator(options.reference, self.game, folder)

    def ratios(self, name: str) -> list[float]:
        """How many positions the net does while the reference does one, in each round."""
        net = make_evaluator(name, self.game, self.folder)
        for one in (net, self.reference):
            one.evaluate(self.planes)
        rounds = range(self.options.rounds)
        return [self._seconds(self.reference) / self._seconds(net) for _ in rounds]

    def _seconds(self, net: Evaluator) -> float:
        start, rounds = time.process_time(), 0
        while time.process_time() - start < 0.2:
            net.evaluate(self.planes)
            rounds += 1
        return (time.process_time() - start) / rounds

    def fit(self, family: str) -> tuple[str, list[float]]:
        """The net of a family whose ratio is nearest to one, by halving the range of widths."""
        step, tried = self.options.step, dict[int, list[float]]()
        low, high = 1, self.options.largest // step
        while low <= high:
            middle = (low + high) // 2
            tried[middle] = self.ratios(family.replace("{c}", str(middle * step)))
            low, high = (middle + 1, high) if median(tried[middle]) > 1 else (low, middle - 1)
        best = min(tried, key=lambda width: abs(median(tried[width]) - 1))
        return family.replace("{c}", str(best * step)), tried[best]


def main() -> None:
    """Print a net of each family."""
    options = tyro.cli(Options, description=__doc__)
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options, Path(folder))
        for family in options.families:
            net, ratios = comparison.fit(family)
            report(f"equal_time.{net}", ratios, unit=f"rate of {options.reference}")


if __name__ == "__main__":
    main()
