"""Positions that show which numbers occur in a net, to choose the steps of int8 by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerogames.errors import UserError
from zerogames.game import Game, State
from zerogames.nets.evaluation import Evaluation

LEAST_POSITIONS = 64
Evaluate = Callable[[NDArray[np.float32]], Evaluation]
"""Evaluates planes `[B, P, H, W]`."""
_GAMES = 16
_MAX_PLIES = 256
_RANDOM_MOVES = 0.15
"""A search also looks at positions behind bad moves."""


@dataclass(frozen=True)
class Positions:
    """Some positions of a game."""

    planes: NDArray[np.float32]
    """`[n, P, H, W]`."""
    legal: NDArray[np.bool_]
    """`[n, A]`."""

    def __len__(self) -> int:
        return len(self.planes)

    def __getitem__(self, chosen: slice) -> "Positions":
        return Positions(self.planes[chosen], self.legal[chosen])


def read_positions(
    game: Game, encoding: str, paths: Sequence[Path], count: int, *, seed: int = 0
) -> Positions:
    """Positions drawn from records or data files; what is broken there is passed over."""
    from zerogames.data.sources import Source
    from zerogames.data.stream import SampleStream, StreamOptions

    source = Source(paths, game, encoding=encoding)
    options = StreamOptions(batch_size=count, shuffle_buffer=16 * count, seed=seed)
    with SampleStream(source, options=options) as stream:
        batch = next(iter(stream), None)
        found = 0 if batch is None else len(batch.planes)
        if batch is None or found < min(count, LEAST_POSITIONS):
            problems = f"; {source.problems.count} problems" if source.problems.count else ""
            raise UserError(
                f"{paths[0]}: {found} positions are too few to calibrate with{problems}; "
                f"give at least {LEAST_POSITIONS}"
            )
        return Positions(batch.planes.copy(), batch.legal.astype(np.bool_))


def play_positions(
    game: Game, encoding: str, evaluate: Evaluate, count: int, *, seed: int = 0
) -> Positions:
    """Positions of games that a net plays against itself, by its policy and some random moves."""
    rng = np.random.default_rng(seed)
    planes: list[NDArray[np.float32]] = []
    legal: list[NDArray[np.bool_]] = []
    while len(planes) < count:
        states = [game.initial_state() for _ in range(_GAMES)]
        for _ in range(min(_MAX_PLIES, game.spec.max_plies)):
            boards = np.stack([state.observe(encoding) for state in states])
            masks = np.stack([_legal_mask(game, state) for state in states])
            planes.extend(boards)
            legal.extend(masks)
            logits = evaluate(boards).policy_logits
            moved = [
                state.play(_choose(row, mask, rng))
                for state, row, mask in zip(states, logits, masks, strict=True)
            ]
            states = [state for state in moved if state.result is None]
            if not states:
                break
    chosen = rng.permutation(len(planes))[:count]
    return Positions(np.stack([planes[i] for i in chosen]), np.stack([legal[i] for i in chosen]))


def _legal_mask(game: Game, state: State) -> NDArray[np.bool_]:
    mask = np.zeros(game.spec.action_size, np.bool_)
    mask[state.legal_actions()] = True
    return mask


def _choose(logits: NDArray[np.float32], legal: NDArray[np.bool_], rng: np.random.Generator) -> int:
    if not np.isfinite(logits[legal]).all():
        raise UserError("the net's policy is not finite; it cannot be int8")
    if rng.random() < _RANDOM_MOVES:
        return int(rng.choice(np.flatnonzero(legal)))
    noise = rng.gumbel(size=len(logits))
    return int(np.argmax(np.where(legal, logits + noise, -np.inf)))
