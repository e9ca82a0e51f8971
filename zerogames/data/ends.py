"""What is known of the end of games, as columns of a batch: see `zerogames.game.EndTarget`."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from zerogames.data.formats import EndNumbers
from zerogames.data.record import GameRecord
from zerogames.game import Game


def end_columns(game: Game) -> dict[str, slice]:
    """The columns of each end target of a game in `SampleBatch.ends`."""
    _, height, width = game.spec.observation_shape
    columns, first = {}, 0
    for end in game.heads.ends:
        size = height * width if end.per_cell else 1
        columns[end.name] = slice(first, first + size)
        first += size
    return columns


class EndReader:
    """Reads the ends of records of a game, whose plugin has the `numbers`."""

    def __init__(self, game: Game, numbers: EndNumbers) -> None:
        self._game = game
        self._numbers = numbers
        self._columns = end_columns(game)
        self.width = max((part.stop for part in self._columns.values()), default=0)

    def read(self, record: GameRecord) -> NDArray[np.float32] | None:
        """All columns `[K]` in the first player's view; None if the end is not known."""
        found = self._numbers(record.final_state(self._game))
        if found is None:
            return None
        columns = np.empty(self.width, np.float32)
        for name, part in self._columns.items():
            columns[part] = found[name]
        return columns

    def signs(self, record: GameRecord, plies: NDArray[np.int32]) -> NDArray[np.float32]:
        """`[plies]`: 1 where the first player is to move, else -1."""
        return 1 - 2 * record.sides(self._game)[plies].astype(np.float32)

    def permute(
        self, columns: NDArray[np.float32], cell_maps: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Transform columns `[B, K]` by a symmetry for each row, `[B, H * W]`."""
        turned = columns.copy()
        for end in self._game.heads.ends:
            if end.per_cell:
                part = self._columns[end.name]
                turned[:, part] = np.take_along_axis(columns[:, part], cell_maps, axis=1)
        return turned


def split_columns(game: Game, columns: NDArray[np.float32]) -> Mapping[str, NDArray[np.float32]]:
    """Columns `[B, K]` by name; nothing if the batch has none."""
    if columns.shape[1] == 0:
        return {}
    return {name: columns[:, part] for name, part in end_columns(game).items()}
