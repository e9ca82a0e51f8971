"""Games that are known by their moves: PGN, SGF, shards and their like."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zerogames.data.formats import ReadContext
from zerogames.data.record import SEARCH_KINDS, GameRecord
from zerogames.data.returns import lambda_returns
from zerogames.data.sample import pack_sample
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.registry import get_game

_TRAINED_KINDS = tuple(SEARCH_KINDS.index(kind) for kind in ("full", "proved", "none"))
_NO_FLOATS = np.empty(0, np.float32)
_NO_ACTIONS = np.empty(0, np.int32)
_NO_OFFSETS = np.empty(0, np.int64)


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
        """Of start position and moves."""
        return record_key(self.game_record)

    @property
    def result(self) -> float | None:
        """First player's view."""
        return self.game_record.result

    @cached_property
    def plies(self) -> NDArray[np.int32]:
        """Those with something to learn: not the cheap and random moves of self-play."""
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
        plies = self.plies[chosen]
        if context.replay is None:
            return self._replay_slowly(game, plies)
        search = record.search
        q, d = self._search_values(game)
        return context.replay(
            record.start_state(game),
            context.encoding,
            record.actions,
            plies,
            _NO_OFFSETS if search is None else search.policy_offsets,
            _NO_ACTIONS if search is None else search.policy_actions,
            _NO_FLOATS if search is None else search.policy_targets,
            q,
            d,
            record.result,
            record.is_whole,
        )

    def _search_values(self, game: Game) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Of every ply, empty if nothing was searched."""
        record, lambda_ = self.game_record, self.context.value_lambda
        if record.search is None:
            return _NO_FLOATS, _NO_FLOATS
        if lambda_ == 0:
            return record.search.values["best_q"], record.search.values["best_d"]
        assert record.result is not None
        second_moves_last = (record.start_state(game).to_play + len(record.actions)) % 2 == 0
        result = -record.result if second_moves_last else record.result
        return lambda_returns(record.search, result, lambda_)

    def _replay_slowly(self, game: Game, plies: NDArray[np.int32]) -> list[bytes]:
        """For games that are written in Python."""
        record = self.game_record
        assert record.result is not None
        wanted = set(plies.tolist())
        state = record.start_state(game)
        samples = []
        search_q, search_d = self._search_values(game)
        for ply, action in enumerate(record.actions.tolist()):
            if ply in wanted:
                sign = 1 if state.to_play == 0 else -1
                result = (sign * record.result, 1 - abs(record.result))
                actions, targets = np.array([action], np.int32), np.ones(1, np.float32)
                found = result
                if record.search is not None:
                    if len(record.search.policy(ply)[0]):
                        actions, _, targets = record.search.policy(ply)
                    q, d = float(search_q[ply]), float(search_d[ply])
                    if not np.isnan(q):
                        found = (q, 0.0 if np.isnan(d) else d)
                if not all(state.is_legal(int(target)) for target in actions):
                    raise UserError(f"the policy at move {ply + 1} is not a policy")
                samples.append(
                    pack_sample(
                        game,
                        state,
                        self.context.encoding,
                        policy_actions=actions,
                        policy=targets,
                        result=result,
                        search=found,
                        moves_left=len(record.actions) - ply if record.is_whole else -1,
                        ply=ply,
                    )
                )
            state = state.play(action)
        return samples


def fitting_game(identity: str, context: ReadContext) -> Game:
    """The game a record was played in; raise `UserError` if its samples would not fit ours."""
    wanted = context.game
    if identity == wanted.spec.identity:
        return wanted
    game = get_game(identity)
    encoding = context.encoding.partition(":")[0]
    fits = (
        game.spec.name == wanted.spec.name
        and game.spec.action_size == wanted.spec.action_size
        and game.encodings[encoding].shape == wanted.encodings[encoding].shape
    )
    if not fits:
        raise UserError(f"a game of {identity} does not fit {wanted.spec.identity}")
    return game
