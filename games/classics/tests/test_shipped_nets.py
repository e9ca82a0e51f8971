"""The nets that come with the classics."""

from pathlib import Path

from zerogames import get_game
from zerogames.evaluate import open_evaluator
from zerogames.game import parse_position
from zerogames.runs.net_source import shipped_net
from zerogames.search import new_search
from zerogames.search.settings import search_preset

POSITIONS = Path(__file__).parent / "data" / "connect4_positions.txt"
VALUES = {"+": 1, "0": 0, "-": -1}


def test_connect4_net_mostly_keeps_the_value_of_solved_positions() -> None:
    game = get_game("connect4")
    net = shipped_net(game)
    assert net is not None
    evaluator = open_evaluator(game, net=net)
    lines = [line for line in POSITIONS.read_text().splitlines() if not line.startswith("#")]
    kept, sample = 0, lines[::12]
    for line in sample:
        moves, letters = line.split()
        state = parse_position(game, "moves " + " ".join(moves))
        search = new_search(game, search_preset("engine"), state=state, encoding=evaluator.encoding)
        search.start(100, explore=False)
        while not search.done:
            planes = search.collect(8)
            if len(planes):
                search.apply(*evaluator.evaluate(planes))
        best = max(VALUES[letter] for letter in letters if letter != ".")
        kept += VALUES[letters[search.choose(0.0)]] == best
    # 0.92 of all positions with 200 simulations; a move at random keeps about half.
    assert kept >= 0.85 * len(sample)
