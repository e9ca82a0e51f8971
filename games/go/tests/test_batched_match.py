from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zerogames.arena.batched_match import BatchedMatch, LiveGame, NetSide, play_batched_match
from zerogames.arena.openings import RandomOpenings
from zerogames.evaluate.evaluator import Capabilities, Evaluation
from zerogames.registry import get_game

GAME = get_game("go:size=5")
PASS = 25


class LovesPassing:
    """Gives passing and the own eyes on the first points the highest priors."""

    capabilities = Capabilities(batch_size=8, threads=1)
    version = "loves passing"
    encoding = next(iter(GAME.encodings))

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        rows = len(planes)
        logits = np.tile(np.linspace(4, 0, PASS + 1, dtype=np.float32), (rows, 1))
        logits[:, PASS] = 9
        return Evaluation(logits, np.full((rows, 3), 1 / 3, np.float32), None)


class Watched(NetSide):
    """Notes in how many positions the search was kept from legal moves."""

    restricted = 0

    def choose(self, games: Any) -> list[int]:
        chosen = super().choose(games)
        for live, action in zip(games, chosen, strict=True):
            sensible = GAME.sensible_actions(live.state, self._net)
            assert sensible is not None
            assert action in sensible
            Watched.restricted += len(sensible) < len(live.state.legal_actions())
        return chosen


@pytest.mark.parametrize("net", [None, "res_3x3_1x8", "res_3x3_1x8+nopass"])
@pytest.mark.parametrize("visits", [1, 6])
def test_net_in_a_batched_match_plays_sensible_actions_only(net: str | None, visits: int) -> None:
    spec = None if net is None else GAME.parse_net(net)
    assert spec is None or spec.pass_logit == (not str(net).endswith("+nopass"))
    Watched.restricted = 0
    match = BatchedMatch(game=GAME, openings=RandomOpenings(GAME, 2, 7), pairs=2)
    outcomes = play_batched_match(
        match,
        lambda: (
            Watched("a", GAME, LovesPassing(), visits=visits, net=spec),
            Watched("b", GAME, LovesPassing(), visits=visits, net=spec),
        ),
    )
    assert len(outcomes) == 4
    assert Watched.restricted > 0


def test_one_visit_plays_the_sensible_action_with_the_highest_prior() -> None:
    side = NetSide("a", GAME, LovesPassing(), visits=1)
    assert side.choose([LiveGame(number=0, game=GAME, state=GAME.initial_state())]) == [0]
