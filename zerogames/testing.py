"""Conformance of a game plugin: `check_game(game)` raises `AssertionError` with what is wrong.

from zerogames import get_game
from zerogames.testing import check_game

def test_my_game():
check_game(get_game("mygame"))
"""

import copy

import numpy as np

from zerogames.data.formats import get_game_data
from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.game import Game, State
from zerogames.picture import CellPicture, Picture
from zerogames.registry import get_game


def check_game(game: Game, *, num_games: int = 10, seed: int = 0) -> None:
    """Check everything the framework relies on, with random games from `seed`."""
    _check_surface(game)
    _check_mistakes(game)
    rng = np.random.default_rng(seed)
    for _ in range(num_games):
        _check_random_game(game, rng)


def _check_surface(game: Game) -> None:
    spec = game.spec
    assert get_game(spec.identity).spec == spec, (
        f"'{spec.identity}' does not lead back to the same game"
    )
    assert spec.action_size > 0, "there must be actions"
    assert spec.max_plies > 0, "max_plies must be positive"
    assert game.encodings, "a game needs an encoding"
    default = next(iter(game.encodings.values()))
    assert spec.observation_shape == default.shape, "the first encoding is the default"
    for name, encoding in game.encodings.items():
        assert encoding.name == name, f"encoding '{name}' calls itself '{encoding.name}'"
    assert game.heads.policy, "a game needs a policy head"
    assert game.heads.value, "a game needs a value head"
    _check_policy_maps(game)
    _check_symmetries(game)
    for letter in game.patterns:
        assert len(letter) == 1, f"pattern key '{letter}' must be one letter"
        assert letter.islower(), f"pattern key '{letter}' must be lower case"


def _check_policy_maps(game: Game) -> None:
    _, height, width = game.spec.observation_shape
    for name, policy_map in game.heads.policy_maps.items():
        assert name in game.heads.policy, f"policy map '{name}' belongs to no policy head"
        index = policy_map.index
        assert index.shape == (game.spec.action_size,), f"policy map '{name}' must be [A]"
        used = index[index >= 0]
        assert len(np.unique(used)) == len(used), f"policy map '{name}' uses an entry twice"
        assert used.max() < policy_map.planes * height * width, f"policy map '{name}' is too large"


def _check_symmetries(game: Game) -> None:
    _, height, width = game.spec.observation_shape
    cells, actions = np.arange(height * width), np.arange(game.spec.action_size)
    assert game.symmetries, "the game has no symmetries; the identity is one"
    identity = game.symmetries[0]
    assert np.array_equal(identity.cells, cells), "the first symmetry is the identity"
    assert np.array_equal(identity.actions, actions), "the first symmetry is the identity"
    for symmetry in game.symmetries:
        assert np.array_equal(np.sort(symmetry.cells), cells), f"'{symmetry.name}' loses cells"
        assert np.array_equal(np.sort(symmetry.actions), actions), (
            f"'{symmetry.name}' loses actions"
        )


def _check_mistakes(game: Game) -> None:
    state = game.initial_state()
    legal = set(state.legal_actions().tolist())
    illegal = [action for action in range(game.spec.action_size) if action not in legal]
    for action in (-1, game.spec.action_size, *illegal[:3]):
        assert not state.is_legal(action), f"is_legal({action}) must be false"
        _assert_user_error(lambda action=action: state.play(action), f"play({action})")
    for text in ("", "no such thing", "\x00", "é" * 1000):
        _assert_user_error(lambda text=text: game.parse_action(state, text), f"move {text!r:.20}")
        _assert_user_error(lambda text=text: game.parse_state(text), f"position {text!r:.20}")
    _assert_user_error(lambda: state.observe("no such encoding"), "an unknown encoding")


def _assert_user_error(call: object, what: str) -> None:
    assert callable(call)
    message: str | None = None
    try:
        call()
    except UserError as error:
        message = str(error)
    assert message is not None, f"{what}: no UserError was raised"
    assert message, f"{what}: the error says nothing"
    assert "\n" not in message, f"{what}: the error must be one line"


def _check_random_game(game: Game, rng: np.random.Generator) -> None:
    state = game.initial_state()
    actions: list[int] = []
    last: int | None = None
    sides: list[int] = []
    while state.result is None and len(actions) < game.spec.max_plies:
        legal = _check_state(game, state)
        sides.append(state.to_play)
        last = int(rng.choice(legal))
        before = game.format_state(state)
        following = state.play(last)
        assert following.plies == state.plies + 1, "plies must count moves"
        assert game.format_state(state) == before, "play must not change the state it starts from"
        if rng.random() < 0.1:
            _check_texts(game, state, legal)
            _check_cells(game, state, legal)
        state = following
        actions.append(last)
    if state.result is not None:
        assert state.result in (-1.0, 0.0, 1.0), f"result {state.result} is not -1, 0 or 1"
        assert state.end_reason, "an ended game has a reason"
        assert len(state.legal_actions()) == 0, "an ended game has no legal action"
    if not game.spec.acts_again:
        assert sides[1:] == [1 - side for side in sides[:-1]], (
            "a side acted twice in a row: set acts_again=True in the game's GameSpec"
        )
    _check_picture(game.render(state, last_action=last))
    _check_records(game, state, np.array(actions, np.int32))


def _check_state(game: Game, state: State) -> list[int]:
    legal: list[int] = state.legal_actions().tolist()
    assert state.legal_actions().dtype == np.int32, "legal_actions must be int32"
    assert legal, "a game that is not over has a legal action"
    assert legal == sorted(set(legal)), "legal actions must be ascending without repeats"
    assert legal[0] >= 0, "actions start at 0"
    assert legal[-1] < game.spec.action_size, "actions end below action_size"
    assert all(map(state.is_legal, legal)), "is_legal must agree with legal_actions"
    assert state.to_play in (0, 1), "to_play is 0 or 1"
    assert state.end_reason == "", "a game that is not over has no end_reason"
    twin = copy.copy(state)
    assert twin.observation_key == state.observation_key, "a copy must have the same keys"
    assert twin.position_key == state.position_key, "a copy must have the same keys"
    for name, encoding in game.encodings.items():
        planes = state.observe(name)
        assert planes.dtype == np.float32, f"'{name}' must give float32"
        assert planes.shape == encoding.shape, f"'{name}' gives {planes.shape}"
        assert np.isfinite(planes).all(), f"'{name}' gives a value that is not finite"
        out = np.full(encoding.shape, np.nan, np.float32)
        assert state.observe(name, out) is out, f"'{name}' must return the given array"
        assert np.array_equal(out, planes), f"'{name}' must fill the given array"
        pack = getattr(state, "pack", None)
        if pack is not None:
            unpacked = encoding.unpack(pack(name))
            assert np.array_equal(unpacked, planes), f"'{name}' packed differs from observe"
    return legal


def _check_texts(game: Game, state: State, legal: list[int]) -> None:
    texts = [game.format_action(state, action) for action in legal]
    assert len(set(texts)) == len(texts), "two actions have the same text"
    for action, text in zip(legal, texts, strict=True):
        assert game.parse_action(state, text) == action, f"move '{text}' does not read back"
    text = game.format_state(state)
    again = game.parse_state(text)
    assert game.format_state(again) == text, f"position '{text}' does not read back"
    assert again.to_play == state.to_play, f"position '{text}' loses the side to move"


def _check_cells(game: Game, state: State, legal: list[int]) -> None:
    picture = game.render(state)
    cells = picture.cells if isinstance(picture, CellPicture) else ()
    names = {cell.name for cell in cells}
    assert all(names), "a cell needs a name"
    if isinstance(picture, CellPicture):
        turned = picture.turned()
        assert {cell.name for cell in turned.cells} == names, "a turned board has the same cells"
        assert "<svg" in turned.svg(), "the turned board must show as SVG"
    for action in legal:
        assert game.notation(state, action), "a move needs a notation"
        unknown = set(game.action_cells(state, action, names)) - names
        assert not unknown, f"the picture has no cells {unknown}"


def _check_picture(picture: Picture) -> None:
    plain = picture.ansi(colour=False)
    assert plain, "the picture must show as text"
    assert "\x1b" not in plain, "colour=False must give no escape codes"
    svg = picture.svg()
    assert "<svg" in svg, "the picture must show as SVG"
    assert "</svg>" in svg, "the picture must show as SVG"
    pixels = picture.rgb()
    assert pixels.dtype == np.uint8, "pixels are uint8"
    assert pixels.ndim == 3, "pixels are [H, W, 3]"
    assert pixels.shape[2] == 3, "pixels are [H, W, 3]"


def _check_records(game: Game, state: State, actions: np.typing.NDArray[np.int32]) -> None:
    record = GameRecord(
        game=game.spec.identity, actions=actions, result=state.result, reason=state.end_reason
    )
    assert game.format_state(record.final_state(game)) == game.format_state(state)
    data = get_game_data(game)
    for name, writer in data.writers.items():
        written = writer.write(record)
        if name not in data.readers:
            continue
        (again,) = data.readers[name](written)
        assert np.array_equal(again.actions, actions), f"{name}: the moves do not read back"
        assert again.result == record.result, f"{name}: the result does not read back"
