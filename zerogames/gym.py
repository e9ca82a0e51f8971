"""Every registered game as a gymnasium environment: `zerogames/<Title>-v0`.

    import gymnasium, zerogames.gym
    env = gymnasium.make("zerogames/Connect4-v0")

One agent moves for both players in turn. The reward is for the player who just moved: 1, 0 or -1
when the game ends. An illegal action loses at once, as is usual; `info["action_mask"]` tells which
are legal, and `env.action_space.sample(info["action_mask"])` draws one.
"""

from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from zerogames.errors import UserError
from zerogames.game import State
from zerogames.registry import game_names, get_game, get_plugin

Info = dict[str, Any]
_RAW_VALUE_LIMIT = 1024.0
"""Encoders emit raw values, such as plies without progress; none is larger."""


class GameEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """A two-player game; observations are the side to move's planes `[P, H, W]`."""

    # gymnasium declares it as an instance variable, hence no ClassVar.
    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self, game: str, *, encoding: str | None = None, render_mode: str | None = None
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UserError(f"render_mode '{render_mode}' is not one of ansi, rgb_array")
        self.game = get_game(game)
        self.encoding = encoding or next(iter(self.game.encodings))
        self.render_mode = render_mode
        self.action_space = gymnasium.spaces.Discrete(self.game.spec.action_size)
        shape = self.game.initial_state().observe(self.encoding).shape
        self.observation_space = gymnasium.spaces.Box(0.0, _RAW_VALUE_LIMIT, shape, np.float32)
        self._state: State = self.game.initial_state()
        self._last_action: int | None = None

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[NDArray[np.float32], Info]:
        """Start again; `options={"position": text}` starts elsewhere."""
        super().reset(seed=seed)
        position = (options or {}).get("position")
        self._state = self.game.parse_state(position) if position else self.game.initial_state()
        self._last_action = None
        return self._state.observe(self.encoding), self._info()

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, Info]:
        """Play for the side to move."""
        mover = self._state.to_play
        if not self._state.is_legal(int(action)):
            return self._state.observe(self.encoding), -1.0, True, False, self._info(illegal=True)
        self._state = self._state.play(int(action))
        self._last_action = int(action)
        result = self._state.result
        reward = 0.0 if result is None else result if mover == 0 else -result
        truncated = result is None and self._state.plies >= self.game.spec.max_plies
        observation = self._state.observe(self.encoding)
        return observation, float(reward), result is not None, truncated, self._info()

    def render(self) -> Any:
        """Text or pixels, as `render_mode` says."""
        if self.render_mode is None:
            return None
        picture = self.game.render(self._state, last_action=self._last_action)
        return picture.rgb() if self.render_mode == "rgb_array" else picture.ansi(colour=False)

    @property
    def state(self) -> State:
        """The position, for players that look at more than planes."""
        return self._state

    def _info(self, *, illegal: bool = False) -> Info:
        mask = np.zeros(self.game.spec.action_size, np.int8)
        mask[self._state.legal_actions()] = 1
        return {"action_mask": mask, "to_play": self._state.to_play, "illegal_action": illegal}


def register_envs() -> None:
    """Register every installed game; importing this module has done it."""
    for name in game_names():
        env_id = f"zerogames/{get_plugin(name).title}-v0"
        if env_id not in gymnasium.registry:
            gymnasium.registry[env_id] = EnvSpec(env_id, entry_point=partial(GameEnv, game=name))


register_envs()
