"""A game of OpenSpiel as ours."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyspiel
from zerogames_kernels import Pattern

from zerogames.base_game import BaseGame
from zerogames.errors import UserError
from zerogames.game import Encoding, GameSpec, Heads, PolicyMap, State, Symmetry
from zerogames.symmetry import identity_symmetry
from zerogames_openspiel.bridged_state import BridgedState
from zerogames_openspiel.loading import load_game
from zerogames_openspiel.options import OpenSpielOptions
from zerogames_openspiel.planes import cell_planes, describe_planes, row_patterns
from zerogames_openspiel.text_picture import TextPicture

START = "startpos"


class BridgedGame(BaseGame):
    """Rules, texts and pictures are OpenSpiel's; a move's spaces are written as underscores."""

    @classmethod
    def load(cls, text: str) -> "BridgedGame":
        """Load a game that is written as OpenSpiel does; raise `UserError` otherwise."""
        shortest, wrapped = load_game(text)
        return cls(OpenSpielOptions(game=shortest), wrapped)

    def __init__(self, options: OpenSpielOptions, wrapped: pyspiel.Game) -> None:
        super().__init__("openspiel", options)
        self._wrapped = wrapped
        encoding = describe_planes(wrapped.observation_tensor_shape(), wrapped.get_parameters())
        self.encodings: Mapping[str, Encoding] = {encoding.name: encoding}
        num_actions = wrapped.num_distinct_actions()
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=num_actions,
            observation_shape=encoding.shape,
            max_plies=wrapped.max_game_length(),
            in_python=True,
            acts_again=True,  # which games let a side go on, OpenSpiel does not tell
        )
        index = cell_planes(encoding, num_actions)
        maps = {}
        if index is not None:
            cells = encoding.height * encoding.width
            maps["conv"] = PolicyMap(planes=max(1, num_actions // cells), index=index)
        self.heads = Heads(policy=("dense", *maps), value=("wdl", "scalar"), policy_maps=maps)
        self.symmetries: Sequence[Symmetry] = [identity_symmetry(encoding, num_actions)]
        self._start = BridgedState(wrapped.new_initial_state(), encoding)
        if {abs(wrapped.min_utility()), abs(wrapped.max_utility())} != {1.0}:
            warnings.warn(
                f"{self.identity}: returns from {wrapped.min_utility():g} to "
                f"{wrapped.max_utility():g} count by their sign only: won, drawn or lost",
                stacklevel=2,
            )

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """Kernels for what has no rows or no columns, where squares do not fit."""
        return row_patterns(self.spec.observation_shape)

    @property
    def default_net(self) -> str:
        """A small residual net, whose kernels fit."""
        return f"res_{next(iter(self.patterns), '3x3')}_4x32"

    def initial_state(self) -> State:
        """OpenSpiel's."""
        return self._start

    def parse_state(self, text: str) -> State:
        """Read `startpos [moves <move> ...]`: OpenSpiel has no text that every position reads."""
        start, *rest = text.split() or [""]
        if start != START or rest[:1] not in ([], ["moves"]):
            raise UserError(f"a position is '{START}' or '{START} moves <move> ...'")
        state: State = self._start
        for move in rest[1:]:
            state = state.play(self.parse_action(state, move))
        return replace(_bridged(state), plies=0)

    def format_state(self, state: State) -> str:
        """All moves since the start."""
        state = _bridged(state)
        played = state.wrapped.history()[len(self._start.wrapped.history()) :]
        at = self._start.wrapped.clone()
        moves = []
        for action in played:
            moves.append(_move_text(at, action))
            at.apply_action(action)
        return " ".join([START, "moves", *moves]) if moves else START

    def parse_action(self, state: State, text: str) -> int:
        """Read a move as OpenSpiel writes it."""
        wrapped = _bridged(state).wrapped
        actions = {_move_text(wrapped, action): action for action in wrapped.legal_actions()}
        if text not in actions:
            known = ", ".join(list(actions)[:5]) or "none, the game is over"
            raise UserError(f"'{text[:20]}' is no move here; moves are: {known}")
        return int(actions[text])

    def format_action(self, state: State, action: int) -> str:
        """OpenSpiel's text, with underscores for spaces."""
        return _move_text(_bridged(state).wrapped, action)

    def render(self, state: State, *, last_action: int | None = None) -> TextPicture:
        """OpenSpiel's picture."""
        return TextPicture(str(_bridged(state).wrapped).rstrip("\n"))


def _bridged(state: State) -> BridgedState:
    assert isinstance(state, BridgedState)
    return state


def _move_text(state: pyspiel.State, action: int) -> str:
    return "_".join(state.action_to_string(state.current_player(), action).split())
