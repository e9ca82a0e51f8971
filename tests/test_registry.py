import dataclasses
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zerogames
from zerogames.data.formats import GameData, RecordWriter, get_game_data
from zerogames.export.formats import ExportFormat, find_format
from zerogames.game import GamePlugin
from zerogames.identity import format_identity, parse_options, split_identity
from zerogames.nets import build_model, read_net_info
from zerogames.nets.foreign import net_suffixes, resolve_net


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    size: int = 19
    komi: float = 7.5
    rules: Literal["tromp-taylor", "chinese"] = "tromp-taylor"
    board: Literal[4, 6] = 4
    no_suicide: bool = False


def parse(text: str) -> Options:
    name, texts = split_identity(text)
    options = parse_options(name, Options, texts)
    assert isinstance(options, Options)
    return options


def test_defaults_are_left_out() -> None:
    assert format_identity("go", Options()) == "go"
    assert format_identity("go", Options(size=9, komi=7.0)) == "go:size=9,komi=7"
    assert parse("go:size=19,komi=7.5") == Options()


@given(
    size=st.integers(2, 25),
    komi=st.integers(-40, 40).map(lambda half: half / 2),
    rules=st.sampled_from(["tromp-taylor", "chinese"]),
    board=st.sampled_from([4, 6]),
    no_suicide=st.booleans(),
)
def test_an_identity_reads_back(**values: object) -> None:
    options = Options(**values)  # type: ignore[arg-type]
    assert parse(format_identity("go", options)) == options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("go:sise=9", "did you mean 'size'"),
        ("go:size=x", "go:size=x"),
        ("go:rules=french", "tromp-taylor"),
        ("go:board=5", "4 or 6"),
        ("go:size", "is not an option"),
        ("go:", "is not an option"),
        ("go:size=9,size=9", "twice"),
        ("go:rules=(a,b", "rules=.a,b"),
    ],
)
def test_a_wrong_option_is_named(text: str, message: str) -> None:
    with pytest.raises(zerogames.UserError, match=message) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_gives_a_game_or_a_user_error(text: str) -> None:
    try:
        game = zerogames.get_game(text)
    except zerogames.UserError:
        return
    assert zerogames.get_game(game.spec.identity).spec == game.spec


def test_an_unknown_game_names_the_nearest() -> None:
    with pytest.raises(zerogames.UserError, match="did you mean 'connect4'"):
        zerogames.get_game("conect4")


def test_all_that_a_plugin_offers_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = zerogames.get_game("connect4")
    model = build_model(game.parse_net("res_3x3_1x4"), game, seed=1)
    form = ExportFormat(suffix=".weird", write=lambda request: pytest.fail("not asked for"))
    plugin = GamePlugin(
        name="connect4",
        title="Weird",
        options=Options,
        create=lambda options: game,
        data=lambda game: GameData(
            writers={"weird": RecordWriter(suffix=".weird", write=lambda record: b"weird")}
        ),
        net_formats={".weird": lambda path: model},
        export_formats={"weird": lambda: form},
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("zerogames.registry.get_plugin", lambda name: plugin)
    assert list(get_game_data(game).writers) == ["weird", "txt"]
    assert ".weird" in net_suffixes()
    assert find_format("weird") is form
    path = tmp_path / "net.weird"
    path.write_bytes(b"weights")
    assert read_net_info(resolve_net(path)).name == "res_3x3_1x4"


def test_positions_may_be_followed_by_moves() -> None:
    game = zerogames.get_game("connect4")
    state = zerogames.parse_position(game, "startpos moves 4 4 3")
    assert game.format_state(state) == "7/7/7/7/3o3/2xx3 o"
    assert zerogames.parse_position(game, "moves 4 4 3").position_key == state.position_key
    again = zerogames.parse_position(game, "7/7/7/7/7/2xo3 x moves 4")
    assert game.format_state(again).endswith(" o")
    with pytest.raises(zerogames.UserError):
        zerogames.parse_position(game, "startpos moves 9")
