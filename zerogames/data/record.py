"""One game from start to end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zerogames.errors import UserError
from zerogames.game import Game, State, play_actions

SEARCH_KINDS = ("full", "fast", "proved", "policy", "random", "none")
"""How a move was chosen: a full search, a cheap one, a proof, the raw policy, a random opening ply,
or by no search of ours. Only `full` and `proved` moves have a policy target worth training on."""

JUDGED = "judged"
"""The `reason` of a line that was cut off and given an engine's value: its length says nothing."""

VALUE_COLUMNS = tuple(
    f"{whose}_{what}" for whose in ("root", "best", "played", "raw") for what in ("q", "d", "m")
)
"""Values of the root, the best child, the played child and the raw net: q = win - loss in [-1, 1],
d the probability of a draw, m turns left; side to move's view, NaN where unknown."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchColumns:
    """The search's results, one entry per ply; sparse policies lie end to end."""

    policy_offsets: NDArray[np.int64]
    """`[plies + 1]`: ply i owns entries `offsets[i]` to `offsets[i + 1]`."""
    policy_actions: NDArray[np.int32]
    policy_visits: NDArray[np.int32]
    policy_targets: NDArray[np.float32]
    """The policy targets: probabilities that sum to 1 for each ply that has any."""
    values: Mapping[str, NDArray[np.float32]]
    """`VALUE_COLUMNS`, each `[plies]`."""
    surprise: NDArray[np.float32]
    """KL divergence of the target from the root's prior (with noise), nats; NaN where unknown."""
    kinds: NDArray[np.uint8]
    """Index into `SEARCH_KINDS`."""

    @classmethod
    def values_only(
        cls, values: Mapping[str, NDArray[np.float32]], kinds: NDArray[np.uint8]
    ) -> Self:
        """Columns without policies; values that are not given are unknown."""
        plies = len(kinds)
        unknown = np.full(plies, np.nan, np.float32)
        return cls(
            policy_offsets=np.zeros(plies + 1, np.int64),
            policy_actions=np.empty(0, np.int32),
            policy_visits=np.empty(0, np.int32),
            policy_targets=np.empty(0, np.float32),
            values={name: values.get(name, unknown) for name in VALUE_COLUMNS},
            surprise=unknown,
            kinds=kinds,
        )

    @property
    def plies(self) -> int:
        """Number of moves described."""
        return len(self.kinds)

    @property
    def num_bytes(self) -> int:
        """Memory of all columns."""
        arrays: list[NDArray[np.generic]] = [self.policy_offsets, self.policy_actions]
        arrays += [self.policy_visits, self.policy_targets, self.surprise, self.kinds]
        return sum(array.nbytes for array in [*arrays, *self.values.values()])

    def policy(self, ply: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """Actions, visits and targets of one ply."""
        entries = slice(self.policy_offsets[ply], self.policy_offsets[ply + 1])
        return (
            self.policy_actions[entries],
            self.policy_visits[entries],
            self.policy_targets[entries],
        )

    def check(self, plies: int) -> None:
        """Raise `UserError` unless the columns fit together and belong to `plies` moves."""
        offsets, entries = self.policy_offsets, len(self.policy_actions)
        fits = (
            self.plies == plies
            and len(self.surprise) == plies
            and len(offsets) == plies + 1
            and offsets[0] == 0
            and offsets[-1] == entries
            and bool((np.diff(offsets) >= 0).all())
            and len(self.policy_visits) == entries
            and len(self.policy_targets) == entries
            and set(self.values) == set(VALUE_COLUMNS)
            and all(len(column) == plies for column in self.values.values())
            and (plies == 0 or int(self.kinds.max()) < len(SEARCH_KINDS))
        )
        if not fits:
            raise UserError("the search columns of a record do not fit its moves")


@dataclass(frozen=True, kw_only=True, eq=False)
class GameRecord:
    """What was played and how it ended; positions are not stored but replayed."""

    game: str
    """The game's identity, e.g. `go:size=9`."""
    start: str = ""
    """The start position as `Game.format_state` writes it; empty for the initial one."""
    actions: NDArray[np.int32]
    """`[plies]`."""
    result: float | None
    """First player's view; None when unknown or unfinished."""
    reason: str = ""
    """The reason of the result."""
    seed: int = 0
    """The seed that gives the same game with the same net and settings."""
    net: str = ""
    """Version of the net that played: the first digits of its file's SHA-256, or a name."""
    search: SearchColumns | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    """Headers of the file it came from or will be written to; not kept in shards."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """The text after the move with that index, by ply; -1 for the text before the first. Not kept
    in shards."""

    @property
    def num_bytes(self) -> int:
        """Memory of its arrays."""
        return self.actions.nbytes + (0 if self.search is None else self.search.num_bytes)

    @property
    def is_whole(self) -> bool:
        """Whether the last move is the game's last."""
        return self.reason != JUDGED

    def start_state(self, game: Game) -> State:
        """The position before the first action."""
        return game.parse_state(self.start) if self.start else game.initial_state()

    def sides(self, game: Game) -> NDArray[np.int8]:
        """`[plies]`: the player who made each move, 0 or 1."""
        state = self.start_state(game)
        if not game.spec.acts_again:
            return ((np.arange(len(self.actions)) + state.to_play) % 2).astype(np.int8)
        sides = np.empty(len(self.actions), np.int8)
        for ply, action in enumerate(self.actions.tolist()):
            sides[ply] = state.to_play
            state = state.play(action)
        return sides

    def final_state(self, game: Game) -> State:
        """The position after the last action."""
        return play_actions(self.start_state(game), [int(action) for action in self.actions])
