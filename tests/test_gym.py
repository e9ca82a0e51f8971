import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import zerogames
import zerogames.gym  # registers the environments

TITLES = {name: zerogames.get_plugin(name).title for name in zerogames.game_names()}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
@pytest.mark.parametrize("name", TITLES)
def test_every_game_passes_gymnasiums_own_check(name: str, render_mode: str) -> None:
    env = gymnasium.make(f"zerogames/{TITLES[name]}-v0", render_mode=render_mode)
    check_env(env.unwrapped)


@pytest.mark.parametrize("name", TITLES)
def test_masked_random_play_ends_with_opposite_views_of_the_result(name: str) -> None:
    env = gymnasium.make(f"zerogames/{TITLES[name]}-v0", disable_env_checker=True).unwrapped
    assert isinstance(env, zerogames.gym.GameEnv)
    env.action_space.seed(3)
    _, info = env.reset(seed=3)
    mover, reward, done = 0, 0.0, False
    while not done:
        mover = info["to_play"]
        _, reward, terminated, truncated, info = env.step(
            env.action_space.sample(info["action_mask"])
        )
        assert not info["illegal_action"]
        done = terminated or truncated
    result = env.state.result
    assert result is None or reward == (result if mover == 0 else -result)


def test_an_illegal_action_loses_and_says_so() -> None:
    env = gymnasium.make("zerogames/Othello-v0", game="othello:size=6").unwrapped
    env.reset()
    _, reward, terminated, _, info = env.step(np.int64(0))
    assert (reward, terminated, info["illegal_action"]) == (-1.0, True, True)


def test_options_choose_the_game_and_the_position() -> None:
    env = gymnasium.make("zerogames/Connect4-v0").unwrapped
    observation, _ = env.reset(options={"position": "7/7/7/7/3x3/2oxo2 x"})
    assert observation[0].sum() == 2
    with pytest.raises(zerogames.UserError):
        zerogames.gym.GameEnv("connect4", render_mode="human")
