"""Replaying a recorded game into packed training samples."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from zerogames.data.sample import SAMPLE_HEADER
from zerogames.errors import UserError
from zerogames.game import Game, State

if TYPE_CHECKING:
    from zerogames.native_state import NativeState


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordColumns:
    """A game to be made into samples; native code (record_samples.hpp) reads these fields."""

    actions: NDArray[np.int32]
    """`[plies]`."""
    chosen: NDArray[np.int32]
    """The plies to make samples of, ascending."""
    policy_offsets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """`[plies + 1]`: ply i owns policy entries `offsets[i]` to `offsets[i + 1]`. A ply without
    entries, and every ply if this is empty, learns the action played."""
    policy_actions: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    policy_targets: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    search_q: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    """`[plies]` win minus loss as the search saw it, player to move's view; NaN where unknown.
    Empty: the result takes its place."""
    search_d: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    """`[plies]` probability of a draw."""
    turns_left: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """`[plies]` turns to the end, as `turns_left` counts them; empty where sides take turns."""
    result: float
    """First player's view."""
    is_whole: bool = True
    """False for a line that was broken off: its length is not the game's."""


def turns_left(sides: NDArray[np.int8]) -> NDArray[np.int32]:
    """Turns to the end `[plies]`, the present one included, from the plies' players.

    A turn is all that a side does before the other one acts.
    """
    last_of_turn = np.append(sides[1:] != sides[:-1], True) if len(sides) else np.empty(0, bool)
    return np.cumsum(last_of_turn[::-1])[::-1].astype(np.int32)


def replay_samples(game: Game, start: State, encoding: str, replay: RecordColumns) -> list[bytes]:
    """Make a packed sample of each chosen ply of a game that began at `start`.

    Raises:
        UserError: If a move or a policy entry is not legal.
    """
    if hasattr(start, "replay_samples"):
        return cast("NativeState", start).replay_samples(encoding, replay)
    return replay_in_python(game, start, encoding, replay)


def replay_in_python(game: Game, start: State, encoding: str, replay: RecordColumns) -> list[bytes]:
    """Do the same for a game whose native class has no replay."""
    chosen = set(replay.chosen.tolist())
    state, plies, samples = start, len(replay.actions), []
    for ply, action in enumerate(replay.actions.tolist()):
        if ply in chosen:
            sign = 1 if state.to_play == 0 else -1
            found = result = (sign * replay.result, 1 - abs(replay.result))
            if len(replay.search_q) and not np.isnan(replay.search_q[ply]):
                d = float(replay.search_d[ply])
                found = (float(replay.search_q[ply]), 0.0 if np.isnan(d) else d)
            actions, targets = np.array([action], np.int32), np.ones(1, np.float32)
            if len(replay.policy_offsets):
                entries = slice(*replay.policy_offsets[ply : ply + 2].tolist())
                if entries.stop > entries.start:
                    actions = replay.policy_actions[entries]
                    targets = replay.policy_targets[entries]
            if not all(state.is_legal(int(target)) for target in actions):
                raise UserError(f"the policy at move {ply + 1} is not a policy")
            left = int(replay.turns_left[ply]) if len(replay.turns_left) else plies - ply
            left = left if replay.is_whole else -1
            packed = _pack(game, state, encoding, targets, (*result, *found, left, 1.0, ply))
            samples.append(packed + actions.astype("<u2").tobytes())
        state = state.play(action)
    return samples


def _pack(
    game: Game,
    state: State,
    encoding: str,
    policy: NDArray[np.float32],
    numbers: Sequence[float],
) -> bytes:
    """A sample without the actions of its policy; `numbers` are those at the header's end."""
    planes, actions = state.observe(encoding), game.spec.action_size
    cells = planes.shape[1] * planes.shape[2]
    header = SAMPLE_HEADER.pack(cells, actions, 0, 0, len(planes), len(policy), *numbers)
    legal = np.zeros((actions + 63) // 64 * 64, np.uint8)
    legal[state.legal_actions()] = 1
    bits = np.packbits(legal, bitorder="little").tobytes()
    return header + bits + planes.tobytes() + policy.astype("<f4").tobytes()
