"""Building engines with TensorRT, or with TensorRT for RTX, whose Python interfaces agree."""

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from zerogames.atomic import write_bytes_atomically
from zerogames.cache import user_cache
from zerogames.errors import UserError, first_problem, unknown_name
from zerogames.export.board_op import KIND, VERSION, board_nodes
from zerogames.export.names import INPUT_PLANES
from zerogames.export.request import BatchSizes

ENGINE_FORMAT = 1
DESCRIBED = {"game", "encoding", "precision"}
"""Texts that an evaluator needs."""


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class EngineInfo:
    """What the file beside an engine says about it: `net.engine.json`."""

    builder: str
    """`tensorrt` or `tensorrt-rtx`."""
    builder_version: str
    sha256: str
    """The digest of the engine."""
    batch: tuple[int, int, int]
    """The smallest, best and largest number of positions per call."""
    plugin: bool
    """Whether the plugin must be loaded first."""
    net: Mapping[str, str]
    """Texts of `zerogames.export.metadata`."""
    format: int = ENGINE_FORMAT


_INFO = TypeAdapter(EngineInfo)


def info_path(engine: Path) -> Path:
    """The file that describes an engine."""
    return engine.with_name(f"{engine.name}.json")


def write_engine(path: Path, engine: bytes, info: EngineInfo) -> None:
    """Write an engine and its description; the description last, so that it finds its engine."""
    write_bytes_atomically(path, engine)
    text = json.dumps(asdict(info), indent=2) + "\n"
    write_bytes_atomically(info_path(path), text.encode())


def read_engine(path: Path) -> tuple[bytes, EngineInfo]:
    """Read an engine whose description fits it; raise `UserError` otherwise."""
    try:
        engine = path.read_bytes()
        text = info_path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None
    try:
        info = _INFO.validate_json(text)
    except ValidationError as error:
        found = first_problem(error, whole="its text")
        raise UserError(f"{info_path(path)}: wrong at {found}") from None
    if info.format != ENGINE_FORMAT or hashlib.sha256(engine).hexdigest() != info.sha256:
        raise UserError(f"{info_path(path)} does not describe {path}; export the net again")
    smallest, best, largest = info.batch
    if not 1 <= smallest <= best <= largest or not set(info.net) >= DESCRIBED:
        raise UserError(f"{info_path(path)} is damaged; export the net again")
    return engine, info


BUILDERS = {"tensorrt": "tensorrt", "tensorrt-rtx": "tensorrt_rtx"}
"""Modules by the name of the package."""


def load_module(builder: str) -> ModuleType:
    """Import `tensorrt` or `tensorrt_rtx`; raise `UserError` that says how to get it."""
    if builder not in BUILDERS:
        raise unknown_name("builder of engines", builder, BUILDERS)
    try:
        module = importlib.import_module(BUILDERS[builder])
    except (ImportError, OSError) as error:
        raise UserError(
            f"missing the package {builder}: pip install 'zerogames[{builder}]' ({error})"
        ) from None
    # In a checkout the folder kernels/tensorrt passes for an empty package.
    if not hasattr(module, "Builder"):
        raise UserError(f"missing the package {builder}: pip install 'zerogames[{builder}]'")
    return module


@dataclass
class Messages:
    """The messages of a builder."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def make_logger(trt: ModuleType, messages: Messages) -> Any:
    """A logger that keeps errors and warnings instead of printing them."""

    class Logger(trt.ILogger):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: object, text: str) -> None:
            if severity in (trt.ILogger.INTERNAL_ERROR, trt.ILogger.ERROR):
                messages.errors.append(text)
            elif severity == trt.ILogger.WARNING:
                messages.warnings.append(text)

    return Logger()


def plugin_library() -> Path:
    """Where the compiled plugin is looked for; no file names it, since loading it runs code."""
    return user_cache() / "zerogames" / "libzerogames_tensorrt.so"


def load_plugin(trt: ModuleType, library: Path) -> None:
    """Make TensorRT know the plugin."""
    registry = trt.get_plugin_registry()
    if registry.get_creator(KIND, str(VERSION), "") is not None:
        return
    if not library.is_file():
        raise UserError(f"there is no plugin library {library}; see docs/deployment.md")
    if registry.load_library(str(library)) is None:
        raise UserError(f"{library} is not a plugin library that TensorRT {trt.__version__} loads")


def build_engine(
    trt: ModuleType,
    model: onnx.ModelProto,
    batch: BatchSizes,
    *,
    timing_cache: Path | None = None,
) -> bytes:
    """Build an engine with one optimisation profile; raise `UserError` with the builder's reason.

    Args:
        trt: The module `tensorrt` or `tensorrt_rtx`.
        model: A model whose types say the precision: networks are strongly typed.
        batch: The profile.
        timing_cache: Where measured times of kernels are kept from one build to the next; for
            `tensorrt` only.
    """
    messages = Messages()
    logger = make_logger(trt, messages)
    builder = trt.Builder(logger)
    # Version 11 knows no other networks, and no flag.
    flag = getattr(trt.NetworkDefinitionCreationFlag, "STRONGLY_TYPED", None)
    network = builder.create_network(0 if flag is None else 1 << int(flag))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse(model.SerializeToString()):
        reasons = [parser.get_error(number).desc() for number in range(parser.num_errors)]
        raise _refused(trt, "parse the net", reasons + messages.errors)
    _check_plugins(trt, network, model)

    config = builder.create_builder_config()
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim][1:]
    profile = builder.create_optimization_profile()
    sizes = (batch.smallest, batch.best, batch.largest)
    profile.set_shape(INPUT_PLANES, *[(size, *shape) for size in sizes])
    config.add_optimization_profile(profile)
    if timing_cache is not None:
        old = timing_cache.read_bytes() if timing_cache.exists() else b""
        # A damaged cache is as good as none.
        cache = config.create_timing_cache(old) or config.create_timing_cache(b"")
        config.set_timing_cache(cache, ignore_mismatch=False)
    engine = builder.build_serialized_network(network, config)
    if engine is None:
        raise _refused(trt, "build the engine", messages.errors)
    if timing_cache is not None:
        write_bytes_atomically(timing_cache, bytes(config.get_timing_cache().serialize()))
    return bytes(engine)


def _check_plugins(trt: ModuleType, network: Any, model: onnx.ModelProto) -> None:
    """A parser may prefer something else to the plugin: look."""
    wanted = 0 if model.functions else len(board_nodes(model))
    if wanted == 0:
        return
    layers = [network.get_layer(number) for number in range(network.num_layers)]
    found = sum(layer.type == trt.LayerType.PLUGIN_V3 for layer in layers)
    if found != wanted:
        raise UserError(f"{trt.__name__} made {found} plugin layers of {wanted} masked layers")


def _refused(trt: ModuleType, what: str, reasons: list[str]) -> UserError:
    reason = " ".join(reasons[0].split()) if reasons else "it gives no reason"
    return UserError(f"{trt.__name__} {trt.__version__} cannot {what}: {reason}")
