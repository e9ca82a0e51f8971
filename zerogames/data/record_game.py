"""Games that are known by their moves: PGN, SGF, shards and their like."""

import dataclasses
import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zerogames.data.formats import ReadContext
from zerogames.data.record import SEARCH_KINDS, GameRecord, SearchColumns
from zerogames.data.record_samples import RecordColumns, replay_samples, turns_left
from zerogames.data.returns import lambda_returns
from zerogames.errors import UserError
from zerogames.game import Game, find_encoding
from zerogames.registry import get_game

_TRAINED_KINDS = tuple(SEARCH_KINDS.index(kind) for kind in ("full", "proved", "none"))


def record_key(record: GameRecord) -> int:
    """64 bits of start position and moves, the same whatever file they came from."""
    digest = hashlib.blake2b(record.start.encode(), digest_size=8)
    digest.update(record.actions.astype("<i4").tobytes())
    return int.from_bytes(digest.digest(), "little")


@dataclass(frozen=True, eq=False)
class RecordGame:
    """A record that gives samples by being replayed."""

    name: str
    kind: str
    game_record: GameRecord
    context: ReadContext
    chosen_plies: NDArray[np.int32] | None = None
    """The plies that count as its positions, ascending; by default those worth learning from."""

    @cached_property
    def key(self) -> int:
        """A hash of start position and moves."""
        return record_key(self.game_record)

    @property
    def result(self) -> float | None:
        """First player's view."""
        return self.game_record.result

    @cached_property
    def plies(self) -> NDArray[np.int32]:
        """The plies that give samples: not the fast and random moves of self-play."""
        if self.chosen_plies is not None:
            return self.chosen_plies
        search = self.game_record.search
        if search is None:
            return np.arange(len(self.game_record.actions), dtype=np.int32)
        return np.flatnonzero(np.isin(search.kinds, _TRAINED_KINDS)).astype(np.int32)

    @property
    def num_positions(self) -> int:
        """Moves with something to learn."""
        return len(self.plies)

    def record(self) -> GameRecord:
        """The game."""
        return self.game_record

    def samples(self, chosen: NDArray[np.int32]) -> list[bytes]:
        """Replay the game; raise `UserError` for one that cannot be learned from."""
        record, context = self.game_record, self.context
        if record.result is None:
            raise UserError("the game has no result")
        game = fitting_game(record.game, context)
        replay = RecordColumns(
            actions=record.actions,
            chosen=self.plies[chosen],
            result=record.result,
            is_whole=record.is_whole,
        )
        if game.spec.acts_again:
            replay = dataclasses.replace(replay, turns_left=turns_left(record.sides(game)))
        if record.search is not None:
            q, d = self._search_values(game, record.search, record.result)
            replay = dataclasses.replace(
                replay,
                policy_offsets=record.search.policy_offsets,
                policy_actions=record.search.policy_actions,
                policy_targets=record.search.policy_targets,
                search_q=q,
                search_d=d,
            )
        return replay_samples(game, record.start_state(game), context.encoding, replay)

    def _search_values(
        self, game: Game, search: SearchColumns, result: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The search's values of every ply."""
        record, lambda_ = self.game_record, self.context.value_lambda
        if lambda_ == 0:
            return search.values["best_q"], search.values["best_d"]
        return lambda_returns(search, record.sides(game), result, lambda_)


def fitting_game(identity: str, context: ReadContext) -> Game:
    """The game a record was played in; raise `UserError` if its samples would not fit ours."""
    wanted = context.game
    if identity == wanted.spec.identity:
        return wanted
    game, encoding = get_game(identity), context.encoding
    fits = (
        game.spec.name == wanted.spec.name
        and game.spec.action_size == wanted.spec.action_size
        and find_encoding(game, encoding).shape == find_encoding(wanted, encoding).shape
    )
    if not fits:
        raise UserError(f"a game of {identity} does not fit {wanted.spec.identity}")
    return game
