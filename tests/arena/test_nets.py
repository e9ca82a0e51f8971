"""Net players: real net files with new weights, searched natively."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from zerogames.arena.event import Conditions, Event
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.net_player import NetCommand, NetPlayer
from zerogames.arena.players import MoveLimits, Position, parse_player
from zerogames.arena.runner import run_event
from zerogames.arena.time_control import TimeControl
from zerogames.errors import UserError
from zerogames.evaluate import ConstantEvaluator, Evaluation
from zerogames.registry import get_game

FREE = MoveLimits(control=TimeControl(), remaining_s=(1e9, 1e9), deadline_s=60)


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from zerogames.nets import build_model, parse_net_name, save_net

    game = get_game("connect4")
    path = tmp_path_factory.mktemp("nets") / "tiny.safetensors"
    save_net(path, build_model(parse_net_name("res_3x3_1x8", game), game, seed=1))
    return path


@pytest.fixture
def empty_file(tmp_path: Path) -> Path:
    path = tmp_path / "any.safetensors"
    path.touch()
    return path


def position_of(moves: str) -> Position:
    game = get_game("connect4")
    state = game.initial_state()
    actions, movers = [], []
    for move in moves.split():
        actions.append(game.parse_action(state, move))
        movers.append(state.to_play)
        state = state.play(actions[-1])
    return Position(
        game=game, start="", actions=actions, moves=moves.split(), movers=movers, state=state
    )


def play(folder: Path, *players: str, **settings: object) -> list[StoredGame]:
    event = Event(players, Conditions(**settings))  # type: ignore[arg-type]
    with MatchFolder(folder, event.identity(), event.game, "-") as opened:
        assert run_event(event, opened) == "finished"
        return list(opened.games)


def test_nets_play_by_nodes_and_by_the_clock(tmp_path: Path, net: Path) -> None:
    games = play(
        tmp_path,
        f"{net}@16?batch=4",
        f"{net}?search=alphazero&variety=0.8",
        game="connect4",
        games=2,
        st=0.02,
        margin=60.0,
    )
    assert len(games) == 2
    assert [one.fault_detail for one in games] == [None, None]
    assert {games[0].first, games[0].second} == {"tiny@16", "tiny"}
    assert all("%" in text for one in games for text in one.comments.values() if text != "book")


def test_players_name_nets_by_word_and_architecture(
    tmp_path: Path, net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = tmp_path / "runs" / "connect4-train"
    run.mkdir(parents=True)
    (run / "net.safetensors").write_bytes(net.read_bytes())
    texts = ("net:newest@8", "fresh=net:res_3x3_1x8@8", "net:shipped@8")
    games = play(tmp_path / "match", *texts, game="connect4", games=2)
    names = {one.first for one in games} | {one.second for one in games}
    assert names == {"net@8", "fresh", "shipped@8"}
    assert [one.fault_detail for one in games] == [None] * 6
    # Another run that becomes the newest does not change the player of a match that is continued.
    assert "net:runs/connect4-train/net.safetensors@8" in (
        (tmp_path / "match" / "event.json").read_text()
    )


def test_games_with_nets_are_reproducible(tmp_path: Path, net: Path) -> None:
    texts = (f"{net}@12?variety=0.8", "mcts:5")
    games = [
        play(tmp_path / str(run), *texts, game="connect4", games=4, concurrency=1 + run)
        for run in range(2)
    ]
    assert {one.key: one.actions for one in games[0]} == {one.key: one.actions for one in games[1]}


def player(empty: Path, text: str = "@200") -> NetPlayer:
    game = get_game("connect4")
    return NetPlayer(NetCommand.parse(f"{empty}{text}"), game, ConstantEvaluator(game))


@pytest.mark.parametrize(("moves", "best"), [("4 1 4 1 4 2", "4"), ("4 1 4 1 4", "4")])
def test_search_finds_wins_and_blocks(empty_file: Path, moves: str, best: str) -> None:
    position = position_of(moves)
    choice = player(empty_file, "@400").choose(position, FREE)
    assert choice.action is not None
    assert position.game.format_action(position.state, choice.action) == best


def test_the_tree_is_kept_while_the_game_goes_on(empty_file: Path) -> None:
    game = get_game("connect4")
    rows = 0

    class Counting(ConstantEvaluator):
        def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
            nonlocal rows
            rows += len(planes)
            return super().evaluate(planes)

    one = NetPlayer(NetCommand.parse(f"{empty_file}@200"), game, Counting(game))
    start = position_of("4")
    one.new_game(start, 0)
    first = one.choose(start, FREE)
    assert first.action is not None
    after_first = rows
    reply = start.game.format_action(start.state, first.action)
    later = position_of(f"4 {reply} 4")
    assert later.state.is_legal(one.choose(later, FREE).action or 0)
    after_second = rows
    assert 0 < after_second - after_first < after_first
    other = position_of("1 2")  # another game: the tree is of no use
    choice = one.choose(other, FREE)
    assert choice.action is not None
    assert other.state.is_legal(choice.action)
    assert rows > after_second


def test_one_node_plays_the_nets_favourite(net: Path) -> None:
    position = position_of("4 4 3")
    one = NetPlayer(NetCommand.parse(f"{net}@1"), position.game)
    choice = one.choose(position, FREE)
    from zerogames.evaluate import open_evaluator

    planes = position.state.observe(next(iter(position.game.encodings)))[None]
    evaluator = open_evaluator(position.game, net=net)
    logits = evaluator.evaluate(np.ascontiguousarray(planes)).policy_logits[0]
    legal = position.state.legal_actions()
    assert choice.action == legal[int(np.argmax(logits[legal]))]


def test_variety_plays_close_seconds(empty_file: Path) -> None:
    # A net without opinion evaluates neighbours alike, so moves differ from game to game.
    position = position_of("")
    one = player(empty_file, "@70?variety=0.8")
    chosen = set()
    for seed in range(20):
        one.new_game(position, seed)
        chosen.add(one.choose(position, FREE).action)
    assert len(chosen) > 1
    plain = player(empty_file, "@70")
    for seed in range(5):
        plain.new_game(position, seed)
        chosen = {plain.choose(position, FREE).action}
        assert len(chosen) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nets/none.safetensors@100", "no net file 'nets/none.safetensors'"),
        ("{}@0", "nodes a move behind @"),
        ("{}@x", "nodes a move behind @"),
        ("{}?bach=3", "did you mean 'batch'"),
        ("{}?batch=0", "from 1 to 4096"),
        ("{}?evaluator=onx", "did you mean 'onnx'"),
        ("{}?precision=int", "did you mean 'int8'"),
        ("{}?precision=int8&evaluator=torch", "'torch' has no precision int8"),
        ("{}?search=engin", "did you mean 'engine'"),
        ("{}?batch", "setting=value"),
    ],
)
def test_mistakes_are_named(empty_file: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_player(text.format(empty_file))


def test_a_net_without_a_limit_is_a_mistake(empty_file: Path) -> None:
    with pytest.raises(UserError, match="needs a limit"):
        player(empty_file, "").choose(position_of(""), FREE)
