"""Training batches from games in memory; `zerogames.train.ReplayWindow` reads those on disk."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from zerogames.errors import UserError
from zerogames.game import find_encoding
from zerogames.library.net import Net

if TYPE_CHECKING:
    from zerogames.data.record import GameRecord
    from zerogames.data.sample import SampleBatch


def make_batch(
    net: Net, records: "Iterable[GameRecord]", size: int | None = None, *, seed: int = 0
) -> "SampleBatch":
    """Make a training batch of the positions of games, for `Trainer.train_step`.

    Policy targets are what the search found, or the moves played in games without a search.
    Positions of fast searches and random opening moves are left out, as in training runs.

    Args:
        net: Its game and encoding decide what the batch looks like.
        records: Games with a result, such as `play_games` or `read_games` give.
        size: Positions in the batch, drawn at random without repeats; by default all of them, in
            the order of the games.
        seed: Of the draw.

    Raises:
        UserError: if there are fewer positions than `size`, or a game has no result.
    """
    from zerogames.data.formats import ReadContext
    from zerogames.data.problems import Problems
    from zerogames.data.record_game import RecordGame
    from zerogames.data.sample import SampleBatch, unpack

    encoding = net.info.encoding
    context = ReadContext(game=net.game, encoding=encoding, problems=Problems("stop"))
    samples: list[bytes] = []
    for number, record in enumerate(records):
        game = RecordGame(f"game {number}", "record", record, context)
        samples += game.samples(np.arange(game.num_positions, dtype=np.int32))
    if size is not None:
        if not 0 < size <= len(samples):
            raise UserError(f"the games have {len(samples)} positions to learn from, not {size}")
        chosen = np.random.default_rng(seed).choice(len(samples), size, replace=False)
        samples = [samples[index] for index in chosen]
    if not samples:
        raise UserError("the games have no position to learn from")
    shape = find_encoding(net.game, encoding).shape
    return unpack(samples, SampleBatch.empty(len(samples), shape, net.game.spec.action_size))
