"""Opening the evaluator of a net by its kind."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zerogames.errors import UserError, unknown_name
from zerogames.evaluate.evaluator import Evaluator
from zerogames.evaluate.plain import ConstantEvaluator, RandomEvaluator
from zerogames.game import Game

if TYPE_CHECKING:
    from zerogames.export.cache import NetFile

PRECISIONS = ("fp32", "int8")
"""`int8` is quantised for CPUs with VNNI (`zerogames.export.int8`); its answers differ a little."""
NET_EVALUATORS = ("native", "onnx", "torch")
"""The kinds that run a net file on any machine."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The arguments of `open_evaluator`."""

    game: Game
    net: Path | None
    threads: int
    precision: str


def open_evaluator(
    game: Game,
    *,
    kind: str = "native",
    net: str | Path | None = None,
    threads: int = 1,
    precision: str = "fp32",
) -> Evaluator:
    """Open an evaluator.

    Args:
        game: The game whose positions it evaluates.
        kind: One of `EVALUATOR_KINDS`.
        net: A net file, ours or of another program; `constant` and `random` need none.
        threads: The number of CPU threads per call.
        precision: One of `PRECISIONS`; all kinds have `fp32`.
    """
    check_precision(precision, kind)
    path = None if net is None else Path(net)
    return EVALUATOR_KINDS[kind](Request(game=game, net=path, threads=threads, precision=precision))


def check_precision(precision: str, kind: str) -> None:
    """Raise `UserError` for an unknown kind or precision, or a kind without this precision."""
    if kind not in EVALUATOR_KINDS:
        raise unknown_name("evaluator", kind, EVALUATOR_KINDS)
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    if precision != "fp32" and kind not in ("native", "onnx"):
        raise UserError(
            f"the evaluator '{kind}' has no precision {precision}; take the evaluator 'native'"
        )


def _open_native(request: Request) -> Evaluator:
    """Open our own kernels for nets and CPUs where they are faster, else onnxruntime."""
    from zerogames_kernels.native import cpu_level

    from zerogames.evaluate.native_ import open_native
    from zerogames.export.cache import native_form

    net = _net_file(request, "native")
    if request.precision == "int8":
        return _open_int8(request, net, native=None)
    path = native_form(net, request.game)
    if cpu_level() == "baseline" or path.stat().st_size == 0:
        return _open_onnx(request)
    return open_native(
        path, version=net.version, encoding=net.info.encoding, threads=request.threads
    )


def _open_onnx(request: Request) -> Evaluator:
    from zerogames.evaluate.onnx_ import OnnxEvaluator
    from zerogames.export.cache import onnx_form

    net = _net_file(request, "onnx")
    if request.precision == "int8":
        return _open_int8(request, net, native=False)
    path = onnx_form(net, request.game)
    return OnnxEvaluator(
        path, version=net.version, encoding=net.info.encoding, threads=request.threads
    )


def _open_int8(request: Request, net: "NetFile", *, native: bool | None) -> Evaluator:
    from zerogames.evaluate.int8_ import open_int8
    from zerogames.export.cache import int8_form

    return open_int8(
        int8_form(net, request.game),
        version=f"{net.version}-int8",
        encoding=net.info.encoding,
        threads=request.threads,
        native=native,
    )


def _open_torch(request: Request) -> Evaluator:
    import torch

    from zerogames.evaluate.torch_ import TorchEvaluator
    from zerogames.nets import load_net

    net = _net_file(request, "torch")
    model, _ = load_net(net.path, game=request.game)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return TorchEvaluator(model, version=net.version, device=device)


def _open_tensorrt(request: Request) -> Evaluator:
    from zerogames.evaluate.tensorrt_ import TensorRTEvaluator
    from zerogames.export.engine import read_engine

    path = _required_net(request, "tensorrt")
    if path.suffix != ".engine":
        raise UserError(f"{path} is no engine; make one: zerogames export {path} --format tensorrt")
    engine, info = read_engine(path)
    if info.net.get("game") != request.game.spec.identity:
        raise UserError(
            f"{path} is a net for {info.net.get('game')}, not for {request.game.spec.identity}"
        )
    return TensorRTEvaluator(engine, info, version=info.sha256[:16])


def _net_file(request: Request, kind: str) -> "NetFile":
    from zerogames.export.cache import NetFile

    return NetFile.find(_required_net(request, kind))


def _required_net(request: Request, kind: str) -> Path:
    if request.net is None:
        raise UserError(f"the evaluator '{kind}' needs a net; give one with --net")
    return request.net


EVALUATOR_KINDS: dict[str, Callable[[Request], Evaluator]] = {
    "native": _open_native,
    "onnx": _open_onnx,
    "torch": _open_torch,
    "tensorrt": _open_tensorrt,
    "constant": lambda request: ConstantEvaluator(request.game),
    "random": lambda request: RandomEvaluator(request.game),
}
"""The kinds by name; the first is the default on a CPU."""
