"""Records in CSA's format: what is written, what others write, and what is broken."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from zerogames_shogi import read_csa, write_csa

from zerogames import get_game
from zerogames.data.formats import get_game_data
from zerogames.data.header import GameHeader
from zerogames.data.record import GameRecord
from zerogames.data.sources import Source
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.errors import UserError
from zerogames.game import Game, parse_actions

GAME = get_game("shogi")
MIDDLE = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"

FILE = """'CSA encoding=UTF-8
V2.2
N+先手
N-White, the player
$EVENT:A match
$START_TIME:2024/05/14
PI
+
'first words
+7776FU,T12
-3334FU
T6
'an exchange
+8822UM
-3122GI
+0045KA
%TORYO
T3
/
V2.2
P1-KY-KE-GI-KI-OU-KI-GI-KE-KY
P2 * -HI *  *  *  *  * -KA *
P3-FU-FU-FU-FU-FU-FU-FU-FU-FU
P4 *  *  *  *  *  *  *  *  *
P5 *  *  *  *  *  *  *  *  *
P6 *  *  *  *  *  *  *  *  *
P7+FU+FU+FU+FU+FU+FU+FU+FU+FU
P8 * +KA *  *  *  *  * +HI *
P9+KY+KE+GI+KI+OU+KI+GI+KE+KY
+
+2726FU
%CHUDAN
/
PI82HI22KA
-
-5142OU
%+ILLEGAL_ACTION
"""


def moves_of(record: GameRecord) -> list[str]:
    state = record.start_state(GAME)
    moves = []
    for action in record.actions.tolist():
        moves.append(GAME.format_action(state, action))
        state = state.play(action)
    return moves


def random_record(game: Game, seed: int, plies: int = 1000) -> GameRecord:
    rng = np.random.default_rng(seed)
    state = game.initial_state()
    actions: list[int] = []
    while state.result is None and len(actions) < plies:
        actions.append(int(rng.choice(state.legal_actions())))
        state = state.play(actions[-1])
    return GameRecord(
        game=game.spec.identity,
        actions=np.array(actions, np.int32),
        result=state.result,
        reason=state.end_reason,
    )


def test_games_of_others_are_read() -> None:
    first, second, third = read_csa(FILE.encode(), GAME)
    assert moves_of(first) == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]
    assert first.tags["Black"] == "先手"
    assert first.tags["White"] == "White, the player"
    assert first.tags["Date"] == "2024/05/14"
    assert (first.result, first.reason, first.start) == (1.0, "resignation", "")
    assert first.comments == {-1: "first words", 1: "an exchange"}
    assert (second.result, second.start, moves_of(second)) == (None, "", ["2g2f"])
    assert third.start == "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    assert (third.result, third.reason) == (-1.0, "illegal action")


def test_shift_jis_and_windows_lines_are_read() -> None:
    text = FILE.replace("'CSA encoding=UTF-8\n", "").replace("\n", "\r\n")
    first, *_ = read_csa(text.encode("cp932"), GAME)
    assert first.tags["Black"] == "先手"
    assert len(first.actions) == 5


@pytest.mark.parametrize("identity", ["shogi", "shogi:handicap=four", "shogi:max-plies=60"])
def test_what_is_written_reads_back(identity: str) -> None:
    game = get_game(identity)
    records = [random_record(game, seed) for seed in range(8)]
    data = "".join(write_csa(record, game) for record in records).encode()
    for record, again in zip(records, read_csa(data, game), strict=True):
        assert np.array_equal(again.actions, record.actions)
        assert (again.result, again.reason) == (record.result, record.reason)
        assert again.start == record.start


@pytest.mark.parametrize("result", [1.0, 0.0, -1.0, None])
@pytest.mark.parametrize("plies", [4, 5])
@pytest.mark.parametrize("reason", ["resignation", "time", "adjudication", ""])
def test_every_result_reads_back(result: float | None, plies: int, reason: str) -> None:
    record = dataclasses.replace(random_record(GAME, 1, plies), result=result, reason=reason)
    (again,) = read_csa(write_csa(record, GAME).encode(), GAME)
    assert again.result == result


def test_positions_tags_and_comments_read_back() -> None:
    state = GAME.parse_state(MIDDLE)
    record = GameRecord(
        game="shogi",
        start=MIDDLE,
        actions=np.array(parse_actions(GAME, state, ["P*8h", "7f8h"][:1]), np.int32),
        result=None,
        tags=get_game_data(GAME).tags(GameHeader(first="a, b", second="c", date="2024-01-02")),
        comments={-1: "before", 0: "two\nlines"},
    )
    (again,) = read_csa(write_csa(record, GAME).encode(), GAME)
    assert again.start == MIDDLE
    assert again.tags == record.tags == {"Black": "a, b", "White": "c", "Date": "2024/01/02"}
    assert again.comments == {-1: "before", 0: "two lines"}


def test_the_rest_of_the_pieces_goes_to_a_hand() -> None:
    (record,) = read_csa(b"P+59OU\nP-51OU\nP+00KI\nP-00AL\n+\n%CHUDAN\n", GAME)
    assert record.start == "4k4/9/9/9/9/9/9/9/4K4 b G2r2b3g4s4n4l18p 1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PI\n", "who begins"),
        ("PI\n+\n+7775FU\n", "move 1, '+7775FU'"),
        ("PI\n+\n-3334FU\n", "the other side is to move"),
        ("PI\n+\n+7776KI\n", "no such piece stands on 77"),
        ("PI\n+\n+0055OU\n", "never in hand"),
        ("PI\n+\n+0055FU\n", "not legal here"),
        ("PI\n+\n+9999XX\n", "not a move"),
        ("PI82KA\n+\n", "no KA stands on 82"),
        ("PX\n+\n", "no line of a position"),
        ("P+59OU\n+\n", "White has 0 kings"),
        ("hello\n", "no line of this format"),
    ],
)
def test_broken_games_are_told_by_number(text: str, reason: str) -> None:
    data = f"{FILE}/\n{text}/\nPI\n+\n+7776FU\n".encode()
    errors: list[UserError] = []
    records = list(read_csa(data, GAME, on_error=errors.append))
    assert len(records) == 4
    (error,) = errors
    assert str(error).startswith("CSA game 4: ")
    assert reason in str(error)
    with pytest.raises(UserError, match="CSA game 4"):
        list(read_csa(data, GAME))


def test_another_program_reads_our_games() -> None:
    cshogi = pytest.importorskip("cshogi", reason="cshogi is not installed")
    csa = pytest.importorskip("cshogi.CSA", reason="cshogi is not installed")
    record = random_record(GAME, 5, 120)
    parsed = csa.Parser.parse_str(write_csa(record, GAME))[0]
    assert [cshogi.move_to_usi(move) for move in parsed.moves] == moves_of(record)


def test_games_are_training_data(tmp_path: Path) -> None:
    path = tmp_path / "games.csa"
    path.write_text(FILE + "/\nPI\n+\n+7775FU\n")
    source = Source([path], GAME)
    with SampleStream(source, None, StreamOptions(shuffle_buffer=0, batch_size=64)) as batches:
        batch = next(batches).copy()
    # Five moves with a result, none of the unfinished game, one of the handicap game.
    assert len(batch) == 6
    first = GAME.initial_state()
    played = {int(row.argmax()) for row in batch.policy}
    assert GAME.parse_action(first, "7g7f") in played
    told = dict(source.problems.named)
    assert any(name.endswith("game 4") and "+7775FU" in told[name] for name in told)
    assert source.problems.count == 2, "the unfinished game has no result to learn"
