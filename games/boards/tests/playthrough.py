"""Transcripts of random games, with all that a state tells: `python playthrough.py IDENTITY`."""

import random
import sys

from zerogames import get_game


def playthrough(identity: str, *, seed: int = 1, shown: int = 12) -> str:
    """The first moves of a random game, and its end, as text."""
    game, chance = get_game(identity), random.Random(seed)
    state = game.initial_state()
    lines = [f"game {game.spec.identity}", f"actions {game.spec.action_size}"]
    lines.append(f"planes {game.spec.observation_shape}, at most {game.spec.max_plies} plies")
    action: int | None = None
    while state.result is None:
        legal = state.legal_actions().tolist()
        last, action = action, chance.choice(legal)
        if state.plies < shown:
            texts = [game.format_action(state, move) for move in legal]
            planes = state.observe(next(iter(game.encodings)))
            lines += ["", f"ply {state.plies}: player {state.to_play} to move"]
            lines.append(f"state {game.format_state(state)}")
            lines += game.render(state, last_action=last).ansi(colour=False).splitlines()
            lines.append(f"plane sums {' '.join(f'{total:g}' for total in planes.sum((1, 2)))}")
            lines.append(f"legal {len(legal)}: {' '.join(texts)}")
            lines.append(f"plays {action} {game.format_action(state, action)}")
        state = state.play(action)
    lines += ["", f"ply {state.plies}: the end", f"state {game.format_state(state)}"]
    lines += game.render(state, last_action=action).ansi(colour=False).splitlines()
    lines.append(f"result {state.result:g}, {state.end_reason}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    print(playthrough(sys.argv[1]), end="")
