"""A net with its game, ready to evaluate positions."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from zerogames.errors import UserError
from zerogames.evaluate import Evaluator, check_precision, open_evaluator
from zerogames.game import Game, State, parse_position
from zerogames.nets.net_info import NetInfo, read_net_info
from zerogames.nets.spec import NetSpec
from zerogames.registry import get_game
from zerogames.runs.net_source import find_net

if TYPE_CHECKING:
    from zerogames.nets.model import Model

Position = State | str | None
"""A state; or text such as a FEN, `startpos moves e2e4 e7e5`, or both; None is the initial one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Net:
    """A net file and the game it plays; `load_net` makes it.

    It stands for its file wherever a path is taken, as in `export_net`.

    Not safe for two threads at once: load the net again for each thread.
    """

    path: Path
    """The net file; another program's file has been converted to this one."""
    game: Game
    evaluator_kind: str = "native"
    """One of `zerogames.evaluate.EVALUATOR_KINDS`."""
    threads: int = 1
    """CPU threads that one batch uses."""
    precision: str = "fp32"
    """`fp32` or `int8`."""

    @cached_property
    def info(self) -> NetInfo:
        """What the file says of itself: architecture, encoding, heads, training steps, licence."""
        return read_net_info(self.path)

    @property
    def name(self) -> str:
        """The architecture, such as `mob_krb_6x96`."""
        return self.info.name

    @cached_property
    def spec(self) -> NetSpec:
        """The architecture in parts."""
        return self.game.parse_net(self.name)

    @cached_property
    def evaluator(self) -> Evaluator:
        """Evaluates batches of planes; opened when it is first used."""
        return open_evaluator(
            self.game,
            kind=self.evaluator_kind,
            net=self.path,
            threads=self.threads,
            precision=self.precision,
        )

    @cached_property
    def model(self) -> "Model":
        """The torch module, to train or to look into. Training it does not change the evaluator."""
        from zerogames.nets import load_net

        return load_net(self.path, game=self.game)[0]

    def state(self, position: Position = None) -> State:
        """Read a position of the net's game: text such as a FEN, `startpos moves e2e4`, or both.

        A state is returned as it is; without anything it is the initial position.
        """
        if position is None:
            return self.game.initial_state()
        return parse_position(self.game, position) if isinstance(position, str) else position

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<net {self.name} for {self.game.spec.identity}>"


def load_net(
    net: str | Path = "shipped",
    game: Game | str | None = None,
    *,
    evaluator: str = "native",
    threads: int = 1,
    precision: str = "fp32",
) -> Net:
    """Load a net.

    Args:
        net: A file, ours (`.safetensors`) or another program's (such as Lc0's `.pb.gz`);
            `shipped`, the net in the game's package; `newest`, the last one that a run below
            `runs/` wrote; or an architecture such as `mob_krb_6x96`, for a net with random weights.
        game: The game or its identity, such as `go:size=9`. A file names its game itself; give it
            to use a net for any board on another board size.
        evaluator: How it is computed: `native` (our kernels where they are faster, else
            onnxruntime), `onnx`, `torch`, or `tensorrt` for an engine file.
        threads: CPU threads that one batch uses.
        precision: `fp32`, or `int8`: faster on a CPU with VNNI, answers differ a little.

    Raises:
        UserError: if there is no such net, or it is for another game.
    """
    if isinstance(game, str):
        game = get_game(game)
    check_precision(precision, evaluator)
    path = find_net(net, game).file()
    info = read_net_info(path)
    return Net(
        path=path,
        game=game or get_game(info.game),
        evaluator_kind=evaluator,
        threads=threads,
        precision=precision,
    )


def open_state(net: Net, position: Position) -> State:
    """Read a position in which a move can be made; raise `UserError` if the game is over there."""
    state = net.state(position)
    if state.result is not None:
        raise UserError(f"the game is over: {state.end_reason}")
    return state
