import random
from pathlib import Path

import numpy as np
import pytest
from go_samples import HERE, own_games, read_file, sgf_files, shared_data
from hypothesis import example, given, settings
from hypothesis import strategies as st
from zerogames_go import GoOptions, read_sgf, write_sgf

import zerogames
from zerogames import UserError
from zerogames.data import GameRecord


def read_one(text: str | bytes, **options: object) -> GameRecord:
    data = text.encode() if isinstance(text, str) else text
    (record,) = read_sgf(data, **options)  # type: ignore[arg-type]
    return record


def names(record: GameRecord) -> str:
    game = zerogames.get_game(record.game)
    state = record.start_state(game)
    return " ".join(game.format_action(state, action) for action in record.actions.tolist())


def test_a_game_has_moves_result_tags_and_comments() -> None:
    record = read_one(
        "text before\n(;GM[1]FF[4]SZ[9]KM[7]RU[Chinese]PB[Lee]RE[W+Resign]C[start]\n"
        ";B[ee]C[a \\] b \\\\ c];W[];B[cc];W[tt])"
    )
    assert record.game == "go:size=9,komi=7,rules=chinese"
    assert names(record) == "E5 pass C7 pass"
    assert (record.result, record.reason) == (-1.0, "resignation")
    assert record.tags["PB"] == "Lee"
    assert record.comments == {-1: "start", 0: "a ] b \\ c"}


def test_passes_are_empty_or_tt_on_small_boards_only() -> None:
    assert names(read_one("(;SZ[9];B[tt];W[])")) == "pass pass"
    assert names(read_one("(;SZ[21];B[tt];W[])")) == "U2 pass"


def test_the_main_line_is_read_unless_all_are_wanted() -> None:
    text = "(;SZ[5];B[aa](;W[bb];B[cc](;W[dd])(;W[de]))(;W[ee]))"
    assert names(read_one(text)) == "A5 B4 C3 D2"
    lines = [names(record) for record in read_sgf(text.encode(), all_lines=True)]
    assert lines == ["A5 B4 C3 D2", "A5 B4 C3 D1", "A5 E1"]


def test_set_up_stones_make_a_start_position() -> None:
    record = read_one("(;SZ[5]AB[aa:ca][cb]AW[ee]AE[ba]PL[W];W[cc])")
    start = record.start_state(zerogames.get_game(record.game))
    board = start.board()[::-1]  # type: ignore[attr-defined]
    assert board[0].tolist() == [1, 0, 1, 0, 0]
    assert board[1].tolist() == [0, 0, 1, 0, 0]
    assert board[4].tolist() == [0, 0, 0, 0, -1]
    assert start.to_play == 1
    assert names(record) == "C3"


def test_white_may_begin_and_handicap_stones_may_be_missing() -> None:
    assert read_one("(;SZ[9];W[ee])").start_state(zerogames.get_game("go:size=9")).to_play == 1
    fixed = read_one("(;SZ[9]HA[2];W[ee];B[ff])")
    assert "AB[cg][gc]" in fixed.start
    placed = read_one("(;SZ[9]HA[2];B[cc];B[gg];W[ee]C[x])")
    assert "AB[gg][cc]" in placed.start
    assert (names(placed), placed.comments) == ("E5", {0: "x"})


@pytest.mark.parametrize(
    ("text", "result", "reason"),
    [
        ("B+2.500000", 1.0, "score"),
        ("W+R", -1.0, "resignation"),
        ("b+time", 1.0, "time"),
        ("W+F", -1.0, "forfeit"),
        ("0", 0.0, "score"),
        ("Draw", 0.0, "score"),
        ("Void", None, ""),
        ("?", None, ""),
        ("B+", 1.0, ""),
    ],
)
def test_results(text: str, result: float | None, reason: str) -> None:
    record = read_one(f"(;SZ[5]RE[{text}];B[aa])")
    assert (record.result, record.reason) == (result, reason)


def test_rules_by_name_or_spelled_out() -> None:
    def rules(text: str) -> str:
        return read_one(f"(;SZ[9]KM[7.5]RU[{text}])").game.removeprefix("go:size=9")

    assert rules("Japanese") == ",rules=japanese"
    assert rules("koPOSITIONALscoreAREAtaxNONEsui1") == ""
    assert rules("koSIMPLEscoreTERRITORYtaxSEKIsui0") == ",rules=japanese"
    assert rules("koSIMPLEscoreAREAtaxNONEsui1") == ",ko=simple"
    assert rules("house rules") == ""
    japanese = GoOptions(rules="japanese")
    assert read_one("(;SZ[9]KM[6,5])", options=japanese).game == "go:size=9,komi=6.5,rules=japanese"


BROKEN = {
    "(;SZ[9];B[aa];W[aa])": "move 2 (W A9) is not legal: a stone is there",
    "(;SZ[9];B[aa];B[bb])": "move 2 (B B8) is out of turn",
    "(;SZ[9];B[zz])": "'zz' is not a point",
    "(;SZ[9];B[a])": "'a' is not a point",
    "(;SZ[26];B[aa])": "size 26",
    "(;SZ[9:13];B[aa])": "not square",
    "(;SZ[x];B[aa])": "not a size",
    "(;GM[2]SZ[8])": "not Go",
    "(;SZ[9]KM[much])": "not a komi",
    "(;SZ[9];B[aa]": "the data end inside the game",
    "(;SZ[9];B[aa": "not closed",
    "(;SZ[9];B[aa]?)": "unexpected '?' at byte 13",
    "(;SZ[9]B)": "property B has no value",
    "(;SZ[9];B[aa];AB[bb])": "after move 1",
    "(;SZ[9];B[];W[];B[aa])": "comes after the end",
    "(;SZ[5]RU[Chinese]AB[ab][bb][ca]PL[W];W[aa];B[ee];W[ba])": "suicide",
    "(;SZ[5]AB[bb][ac][bd]AW[cb][bc][dc][cd]PL[B];B[cc];W[bc])": "ko",
    "nothing here": "no SGF game",
    "": "no SGF game",
}


@pytest.mark.parametrize("text", BROKEN)
def test_broken_games_are_named_with_the_reason(text: str) -> None:
    with pytest.raises(UserError) as caught:
        list(read_sgf(text.encode()))
    assert BROKEN[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_collection_goes_on_after_a_broken_game() -> None:
    good, bad = "(;GM[1]SZ[5];B[aa])", "(;GM[1]SZ[5];B[aa];W[aa])"
    errors: list[UserError] = []
    text = f"{good}{bad}{good} (;GM[1]SZ[5];B[aa]?;W[bb](;B[cc])) {good}"
    records = list(read_sgf(text.encode(), on_error=errors.append))
    assert len(records) == 3
    assert [str(error).partition(":")[0] for error in errors] == [
        f"game 2 (byte {len(good)})",
        f"game 4 (byte {2 * len(good) + len(bad) + 1})",
    ]


@pytest.mark.parametrize("codec", ["utf-8", "gbk", "shift_jis", "big5", "latin-1", "utf-16"])
def test_text_in_any_encoding(codec: str) -> None:
    # The second byte of some of these letters is a bracket or a backslash in some encodings.
    text = {"shift_jis": "ソ表 \u30be", "big5": "功許蓋", "gbk": "亅乗乚", "latin-1": "é"}.get(
        codec, "棋é"
    )
    data = f"(;CA[{codec}]SZ[9]PB[{text}];B[aa]C[{text}])".encode(codec)
    record = read_one(data)
    assert record.tags["PB"] == text
    assert record.comments == {0: text}


def test_undeclared_bytes_are_read_leniently() -> None:
    assert read_one(b"(;SZ[9]PB[\xe9])").tags["PB"] == "é"
    assert read_one("(;SZ[9]PB[棋])").tags["PB"] == "棋"
    assert read_one(b"(;CA[no such]SZ[9]PB[\xe9])").tags["PB"] == "é"
    assert "\ufffd" in read_one(b"(;CA[UTF-8]SZ[9]PB[\xe9])").tags["PB"]


def test_old_long_property_names() -> None:
    record = read_one("(;GaMe[1]SiZe[9]AddBlack[cc]PLayer[W];White[ee])")
    assert record.game == "go:size=9"
    assert names(record) == "E5"


records = st.builds(
    lambda size, seed, tags, comment, start: random_record(size, seed, tags, comment, start),
    st.integers(2, 25),
    st.integers(0, 2**32),
    st.dictionaries(st.sampled_from(["PB", "PW", "GN", "EV"]), st.text(max_size=20)),
    st.text(max_size=30),
    st.booleans(),
)


def random_record(
    size: int, seed: int, tags: dict[str, str], comment: str, start: bool
) -> GameRecord:
    rng = random.Random(seed)
    game = zerogames.get_game(f"go:size={size},komi={rng.choice((0, 0.5, 7))}")
    state = game.initial_state()
    text = ""
    if start:
        for _ in range(rng.randrange(1, 2 * size)):
            if state.result is None:
                state = state.play(rng.choice(state.legal_actions().tolist()))
        if state.result is None:
            text = game.format_state(state)
            state = game.parse_state(text)
        else:
            state = game.initial_state()
    actions = []
    while state.result is None and len(actions) < 30:
        actions.append(rng.choice(state.legal_actions().tolist()))
        state = state.play(actions[-1])
    return GameRecord(
        game=game.spec.identity,
        start=text,
        actions=np.array(actions, np.int32),
        result=rng.choice((1.0, -1.0, 0.0, None)),
        tags=tags,
        comments={-1: comment, 0: comment} if actions else {-1: comment},
    )


@settings(max_examples=100, deadline=None)
@given(records)
def test_records_are_written_and_read_back(record: GameRecord) -> None:
    again = read_one(write_sgf(record))
    assert again.actions.tolist() == record.actions.tolist()
    assert (again.game, again.result) == (record.game, record.result)
    game = zerogames.get_game(record.game)
    assert str(again.final_state(game)) == str(record.final_state(game))

    def lines(text: str) -> str:
        text = text.encode(errors="replace").decode()
        for space in "\t\v\f":
            text = text.replace(space, " ")
        for newline in ("\r\n", "\n\r", "\r"):
            text = text.replace(newline, "\n")
        return text

    for name, text in record.tags.items():
        assert again.tags.get(name, "") == lines(text)
    assert again.comments.get(-1, "") == lines(record.comments[-1])


def test_own_games_are_written_and_read_back() -> None:
    for record in own_games():
        again = read_one(write_sgf(record))
        assert again.actions.tolist() == record.actions.tolist()
        assert (again.game, again.result, again.comments) == (
            record.game,
            record.result,
            record.comments,
        )
        assert again.tags["RE"] == record.tags["RE"]


def test_deep_nesting_and_long_lines_are_survived() -> None:
    deep = "(;SZ[9]" + "(;" * 50_000 + ")" * 50_001
    assert len(list(read_sgf(deep.encode()))) == 1
    assert len(list(read_sgf(deep.encode(), all_lines=True))) == 1
    for text in (
        "(;SZ[9]" + "(" * 3_000_000,
        "(;" * 2_000_000,
        "(;SZ[9]" + ";C[]" * 200_000 + ")",
        "(;SZ[9]AB" + "[aa]" * 1_200_000 + ")",
        "(;SZ[9]" + "A" * 1_000_000 + "[])",
        "(;C[" + "\\" * 1_000_001,
    ):
        with pytest.raises(UserError):
            list(read_sgf(text.encode()))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
@example(b"(;")
@example(b"(;B[\\")
@example(b"(;SZ[9]AB[aa:")
@example(b"(;SZ[9]AB[cc:aa];B[")
def test_garbage_is_refused_or_read_but_never_worse(data: bytes) -> None:
    for wrapped in (data, b"(;SZ[5]" + data, b"(;" + data + b")", b"\xff\xfe" + data):
        for all_lines in (False, True):
            errors: list[UserError] = []
            for record in read_sgf(wrapped, all_lines=all_lines, on_error=errors.append):
                record.final_state(zerogames.get_game(record.game))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*"()[];:\\ ", "B", "W", "AB", "SZ[5]", "aa", "bb", "C", "[cc]"])))
def test_shuffled_syntax_is_refused_or_read_but_never_worse(parts: list[str]) -> None:
    test = ("(;" + "".join(parts) + ")").encode()
    for all_lines in (False, True):
        list(read_sgf(test, all_lines=all_lines, on_error=lambda error: None))


def test_every_truncation_of_a_game_is_refused() -> None:
    text = (HERE / "data" / "games-9x9.sgf").read_text().splitlines()[0]
    assert len(list(read_sgf(text.encode()))) == 1
    for end in range(2, len(text) - 1, 7):
        with pytest.raises(UserError):
            list(read_sgf(text[:end].encode()))


# Real files that our rules cannot replay, and why.
OUT_OF_TURN = {
    "TSa.sgf",
    "incident42.sgf",
    "gnugo-gointellect2.W+2.sgf",
    "gnugo-goliath2.W+38.sgf",
    "gnugo-goliath3.B+16.sgf",
    "gnugo-katsunari1.B+21.sgf",
    "gnugo-katsunari2.B+66.sgf",
    "gnugo-katsunari3.B+13.sgf",
    "goliath-gnugo2.W+9.sgf",
    "goliath-gnugo3.W+0.sgf",
    "trevor_42.sgf",
}
REPEATS_A_BOARD = {
    "filllib10.sgf",
    "gnugo-3.1.22-heeroy-200201252006.sgf",
    "reading41.sgf",
    "verybad.sgf",
}


def replay(files: list[Path], options: GoOptions | None = None) -> tuple[int, dict[str, str]]:
    count, broken = 0, {}
    for path in files:
        errors: list[UserError] = []
        count += len(list(read_sgf(read_file(path), options=options, on_error=errors.append)))
        if errors:
            broken[path.name] = str(errors[0])
    return count, broken


def test_all_real_games_replay_and_the_broken_are_named() -> None:
    files = sgf_files(shared_data("gnugo-regression-games"))
    count, broken = replay(files)
    assert (len(files), count) == (1130, 1115)
    assert set(broken) == OUT_OF_TURN | REPEATS_A_BOARD
    assert {name for name, why in broken.items() if "out of turn" in why} == OUT_OF_TURN
    assert {name for name, why in broken.items() if why.endswith("ko")} == REPEATS_A_BOARD
    _, simple = replay(files, GoOptions(rules="japanese"))
    assert set(simple) == OUT_OF_TURN
    for folder, games in (
        ("elf-ladder-suite", 116),
        ("engine-games-9x9", 29),
        ("katago-9x9", 2719),
        ("leelaz-19x19-chunks", 13),
    ):
        assert replay([f for f in sgf_files(shared_data(folder)) if "sgf" in f.name]) == (games, {})


def test_the_index_of_real_games_agrees() -> None:
    import json

    folder = shared_data("gnugo-regression-games")
    for entry in json.loads((folder / "INDEX.json").read_text())[::7]:
        path = folder / entry["file"]
        for record in read_sgf(read_file(path), on_error=lambda error: None):
            size = zerogames.get_game(record.game).spec.observation_shape[1]
            assert size == entry["size"]
            assert 0 <= entry["moves"] - len(record.actions) <= 1
