"""A state of OpenSpiel as ours: an immutable value."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pyspiel
from numpy.typing import NDArray

from zerogames.errors import UserError, unknown_name
from zerogames.game import Encoding
from zerogames_openspiel.planes import ENCODING, fill_planes


@dataclass(frozen=True, eq=False)
class BridgedState:
    """Wraps an OpenSpiel state that nobody changes any more."""

    wrapped: pyspiel.State
    encoding: Encoding = field(repr=False)
    plies: int = 0

    @property
    def to_play(self) -> int:
        """0 or 1; 0 once the game is over."""
        return max(0, int(self.wrapped.current_player()))

    @property
    def result(self) -> float | None:
        """The sign of the first player's return."""
        return float(np.sign(self.wrapped.returns()[0])) if self.wrapped.is_terminal() else None

    @property
    def end_reason(self) -> str:
        """OpenSpiel tells no reason, so the returns themselves."""
        if not self.wrapped.is_terminal():
            return ""
        first, second = self.wrapped.returns()
        return f"returns {first:g} {second:g}"

    @cached_property
    def _legal(self) -> NDArray[np.int32]:
        return np.array(self.wrapped.legal_actions(), np.int32)

    def legal_actions(self) -> NDArray[np.int32]:
        """OpenSpiel's."""
        return self._legal.copy()

    def is_legal(self, action: int) -> bool:
        """Whether it is among the legal ones."""
        return bool((self._legal == action).any())

    def play(self, action: int) -> "BridgedState":
        """Return the next state; raise `UserError` for an illegal action."""
        if not self.is_legal(action):
            raise UserError(f"action {action} is not legal here")
        return replace(self, wrapped=self.wrapped.child(action), plies=self.plies + 1)

    @cached_property
    def _planes(self) -> NDArray[np.float32]:
        planes = np.empty(self.encoding.shape, np.float32)
        fill_planes(self.wrapped.observation_tensor(self.to_play), self.to_play, planes)
        return planes

    def observe(self, encoding: str, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """The side to move's tensor as planes, then whether the second player is to move."""
        if encoding != ENCODING:
            raise unknown_name("encoding", encoding, [ENCODING])
        if out is None:
            return self._planes.copy()
        if out.shape != self._planes.shape or out.dtype != np.float32:
            raise UserError(f"planes are float32 of shape {self._planes.shape}")
        out[:] = self._planes
        return out

    @property
    def position_key(self) -> int:
        """Of the text and the side to move."""
        return _hash(str(self.wrapped).encode(), self.to_play)

    @property
    def observation_key(self) -> int:
        """Of planes and legal actions: those may hang on a history that planes do not show."""
        return _hash(self._planes.tobytes() + self._legal.tobytes(), self.to_play)


def _hash(data: bytes, player: int) -> int:
    return int.from_bytes(blake2b(data, digest_size=8, salt=bytes([player])).digest(), "little")
