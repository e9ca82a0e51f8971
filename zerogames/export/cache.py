"""The cached forms of nets: made on first use, kept by content, found without torch or onnx.

    form     made from              file in `zerogames.cache.cache_folder()`
    onnx     the net file           <version>-<P>x<H>x<W>-v1.onnx
    native   the net file           <version>-<P>x<H>x<W>-v1.3.native
    int8     the net file           <version>-<P>x<H>x<W>-int8-v1.2.onnx, or one beside the net

A foreign net file is first converted to ours, see `zerogames.nets.foreign`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from zerogames.cache import cached_file
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets.foreign import net_suffixes, resolve_net
from zerogames.nets.net_info import NetInfo, net_version, read_net_info

EXPORT_VERSION = 1
"""The version of the exported graph. Raise it when the graph changes: cached exports of older
versions are not used."""
NATIVE_VERSION = 3
"""The version of the native form, raised likewise."""
INT8_VERSION = 2
"""The version of the int8 form, raised likewise; a user's own of version 1 runs in onnxruntime."""
INT8_SUFFIX = ".int8.onnx"
"""The ending of int8 exports that users make beside their nets."""


@dataclass(frozen=True, kw_only=True)
class NetFile:
    """A net file with what names its cached forms."""

    path: Path
    """A file of ours."""
    named: Path
    """The file the user named; another one than `path` if that was converted from it."""
    version: str
    """The file's `net_version`: forms of another content are not used."""
    info: NetInfo

    @classmethod
    def find(cls, named: str | Path) -> Self:
        """Describe a net file, ours or one of another program."""
        path = resolve_net(named)
        info = read_net_info(path)
        return cls(path=path, named=Path(named), version=net_version(path), info=info)


def onnx_form(net: NetFile, game: Game) -> Path:
    """Return the ONNX form of a net for the game's board size."""

    def write(path: Path) -> None:
        from zerogames.export.onnx_file import export_onnx
        from zerogames.nets.file import load_net

        model, _ = load_net(net.path, game=game)
        export_onnx(model, game, path)

    return _form(net, game, f"-v{EXPORT_VERSION}.onnx", write)


def native_form(net: NetFile, game: Game) -> Path:
    """Return the form of a net that our own float32 kernels read; empty if they have no such net.

    The kernels have it if their file's size is not 0.
    """

    def write(path: Path) -> None:
        from zerogames.atomic import write_bytes_atomically
        from zerogames.export.native import make_native, plan_native
        from zerogames.nets.file import load_net

        program = load_net(net.path, game=game)[0].program(game)
        content = b"" if plan_native(program) is None else make_native(program)
        write_bytes_atomically(path, content)

    return _form(net, game, f"-v{EXPORT_VERSION}.{NATIVE_VERSION}.native", write)


def int8_form(net: NetFile, game: Game) -> Path:
    """Return the int8 form of a net: the user's own export beside it, else a cached one."""

    def write(path: Path) -> None:
        from zerogames.export.int8 import quantize_net, write_int8
        from zerogames.nets.file import load_net

        program = load_net(net.path, game=game)[0].program(game)
        quantized = quantize_net(program, game, net.info.encoding)
        write_int8(quantized, path, version=net.version, game=game, encoding=net.info.encoding)

    own = int8_path(net.named)
    if own.is_file() and _is_int8_of(own, net, game):
        return own
    return _form(net, game, f"-int8-v{EXPORT_VERSION}.{INT8_VERSION}.onnx", write)


def int8_path(net: Path) -> Path:
    """Return where the int8 form of a net lies if its user made one."""
    ending = next((end for end in net_suffixes() if net.name.endswith(end)), "")
    return net.with_name(net.name.removesuffix(ending) + INT8_SUFFIX)


def _form(net: NetFile, game: Game, ending: str, write: Callable[[Path], None]) -> Path:
    size = "x".join(map(str, game.spec.observation_shape))
    return cached_file(f"{net.version}-{size}{ending}", write)


def _is_int8_of(path: Path, net: NetFile, game: Game) -> bool:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(path)
    except (OSError, DecodeError) as error:
        raise UserError(f"{path} is no ONNX file ({error}); export it anew or remove it") from None
    entries = {entry.key: entry.value for entry in model.metadata_props}
    found = (entries.get("source_version"), entries.get("game"), entries.get("int8_version"))
    known = [str(number + 1) for number in range(INT8_VERSION)]
    return found[:2] == (net.version, game.spec.identity) and found[2] in known
