"""From a net file or a word to an evaluator."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from zerogames.errors import UserError, unknown_name
from zerogames.evaluate.evaluator import Evaluator
from zerogames.evaluate.plain import ConstantEvaluator, RandomEvaluator
from zerogames.game import Game

PRECISIONS = ("fp32", "int8")
"""`int8`: quantised for CPUs with VNNI, see `zerogames.export.int8`; not quite the same."""


NET_EVALUATORS = ("native", "onnx", "torch")
"""Kinds that run a net file on any machine."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is wanted of an evaluator."""

    game: Game
    net: Path | None
    threads: int
    precision: str


def open_evaluator(
    game: Game,
    *,
    kind: str = "native",
    net: Path | None = None,
    threads: int = 1,
    precision: str = "fp32",
) -> Evaluator:
    """Make an evaluator.

    Args:
        game: What it is to judge.
        kind: One of `EVALUATOR_KINDS`.
        net: A net file; the plain kinds need none.
        threads: CPU threads per call.
        precision: One of `PRECISIONS`; all kinds know `fp32`.
    """
    check_precision(precision, kind)
    return EVALUATOR_KINDS[kind](Request(game=game, net=net, threads=threads, precision=precision))


def check_precision(precision: str, kind: str) -> None:
    """Refuse unknown evaluators and precisions, and pairs that do not go together."""
    if kind not in EVALUATOR_KINDS:
        raise unknown_name("evaluator", kind, EVALUATOR_KINDS)
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    if precision != "fp32" and kind not in ("native", "onnx"):
        raise UserError(
            f"the evaluator '{kind}' has no precision {precision}; take the evaluator 'native'"
        )


def net_version(net: Path) -> str:
    """The first digits of the file's SHA-256."""
    try:
        return hashlib.sha256(net.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise UserError(f"{net}: {error.strerror or error}") from None


def _open_native(request: Request) -> Evaluator:
    """Our own kernels for nets and CPUs where they are faster, else onnxruntime."""
    from zerogames.evaluate.native_ import is_native, open_native
    from zerogames.nets import read_net_info

    net = _required_net(request, "native")
    if request.precision == "int8":
        return _open_int8(request, net, native=None)
    info, version = read_net_info(net), net_version(net)
    if not is_native(request.game.parse_net(info.name)):
        return _open_onnx(request)
    path = exported_native(net, version, request.game)
    return open_native(path, version=version, encoding=info.encoding, threads=request.threads)


def _open_onnx(request: Request) -> Evaluator:
    from zerogames.evaluate.onnx_ import OnnxEvaluator
    from zerogames.nets import read_net_info

    net = _required_net(request, "onnx")
    if request.precision == "int8":
        return _open_int8(request, net, native=False)
    info, version = read_net_info(net), net_version(net)
    path = exported_onnx(net, version, request.game)
    return OnnxEvaluator(path, version=version, encoding=info.encoding, threads=request.threads)


def _open_int8(request: Request, net: Path, *, native: bool | None) -> Evaluator:
    from zerogames.evaluate.int8_ import open_int8
    from zerogames.export.int8 import exported_int8
    from zerogames.nets import read_net_info

    info, version = read_net_info(net), net_version(net)
    path = exported_int8(net, version, request.game, info.encoding, named=request.net)
    return open_int8(
        path,
        version=f"{version}-int8",
        encoding=info.encoding,
        threads=request.threads,
        native=native,
    )


def exported_onnx(net: Path, version: str, game: Game) -> Path:
    """The ONNX form of a net for a board size, exported once and kept by content."""
    from zerogames.export.cache import EXPORT_VERSION, cache_folder, mark_used, prune_cache

    size = "x".join(map(str, game.spec.observation_shape))
    path = cache_folder() / f"{version}-{size}-v{EXPORT_VERSION}.onnx"
    if not mark_used(path):
        from zerogames.export.onnx_file import export_onnx
        from zerogames.nets import load_net

        model, _ = load_net(net, game=game)
        path.parent.mkdir(parents=True, exist_ok=True)
        export_onnx(model, game, path)
        prune_cache()
    return path


def exported_native(net: Path, version: str, game: Game) -> Path:
    """The form of a net that our own kernels read, made once and kept by content."""
    from zerogames.export.cache import (
        EXPORT_VERSION,
        NATIVE_SUFFIX,
        NATIVE_VERSION,
        cache_folder,
        mark_used,
        prune_cache,
    )

    size = "x".join(map(str, game.spec.observation_shape))
    made_by = f"v{EXPORT_VERSION}.{NATIVE_VERSION}"
    path = cache_folder() / f"{version}-{size}-{made_by}{NATIVE_SUFFIX}"
    if not mark_used(path):
        import onnx

        from zerogames.atomic import write_bytes_atomically
        from zerogames.export.native import make_native

        model = onnx.load(exported_onnx(net, version, game))
        write_bytes_atomically(path, make_native(model))
        prune_cache()
    return path


def _open_torch(request: Request) -> Evaluator:
    import torch

    from zerogames.evaluate.torch_ import TorchEvaluator
    from zerogames.nets import load_net

    net = _required_net(request, "torch")
    model, _ = load_net(net, game=request.game)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return TorchEvaluator(model, version=net_version(net), device=device)


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


def _required_net(request: Request, kind: str) -> Path:
    if request.net is None:
        raise UserError(f"the evaluator '{kind}' needs a net; give one with --net")
    from zerogames.nets.foreign import resolve_net

    return resolve_net(request.net)


EVALUATOR_KINDS: dict[str, Callable[[Request], Evaluator]] = {
    "native": _open_native,
    "onnx": _open_onnx,
    "torch": _open_torch,
    "tensorrt": _open_tensorrt,
    "constant": lambda request: ConstantEvaluator(request.game),
    "random": lambda request: RandomEvaluator(request.game),
}
"""By the word that users write; the first is the default on a CPU."""
