"""Positions that are never trained on."""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from zerogames.data.sample import SampleBatch, unpack
from zerogames.data.sources import Source
from zerogames.data.split import Selection
from zerogames.errors import UserError
from zerogames.pretrain.settings import ValidationSettings

_ORDER = 20_240
"""Seed of the files' and positions' order, fixed: with the same data the same positions."""


class ValidationSet:
    """Held-out positions, the same ones each time, packed in memory (about a kilobyte each).

    Depends on the data and the settings alone, not on the net's seed. Reading ends when there are
    enough positions, so a huge data set costs no more than a small one.
    """

    def __init__(self, source: Source, settings: ValidationSettings, batch_size: int = 256) -> None:
        selection = Selection(
            part="validation", validation_share=settings.share, per_game=settings.per_game
        )
        self._usual = settings.positions
        most = max(settings.positions, settings.final_positions)
        self._samples: list[bytes] = []
        self.num_games = 0
        pieces = source.pieces(np.random.default_rng(_ORDER))
        for game in chain.from_iterable(source.read(one) for one in pieces if one.copy == 0):
            if len(self._samples) >= most:
                break
            if selection.wants(game.key):
                chosen = selection.choose(game.key, game.num_positions)
                try:
                    self._samples += game.samples(chosen)
                    self.num_games += 1
                except UserError as error:
                    source.problems.add(game.name, str(error))
        del self._samples[most:]
        # The usual positions are the first: they shall come from all these games.
        order = np.random.default_rng(_ORDER).permutation(len(self._samples))
        self._samples = [self._samples[number] for number in order]
        if not self._samples:
            names = ", ".join(str(root) for root in source.roots[:3])
            raise UserError(
                f"{names}: no game fell into the validation part; raise --validation.share "
                "or give more games"
            )
        self._batch = SampleBatch.empty(
            min(batch_size, len(self._samples)), source.shape, source.game.spec.action_size
        )

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def num_usual(self) -> int:
        """Positions of every validation but the last, which takes all."""
        return min(self._usual, len(self._samples))

    def batches(self, *, final: bool = False) -> Iterator[SampleBatch]:
        """The usual positions or, for the last validation, all; a batch is valid until the next."""
        size = len(self._batch)
        samples = self._samples if final else self._samples[: self._usual]
        for first in range(0, len(samples), size):
            yield unpack(samples[first : first + size], self._batch)
