"""Net files of other programs, wherever a net is named.

A plugin offers readers as `GamePlugin.net_formats`: by the files' ending, such as `.pb.gz`, a
function from a path to one of our models.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from zerogames.cache import cached_file
from zerogames.errors import UserError
from zerogames.nets.net_info import net_version
from zerogames.registry import all_plugins

if TYPE_CHECKING:
    from zerogames.nets.model import Model


def _readers() -> "dict[str, Callable[[Path], Model]]":
    readers = {end: read for plugin in all_plugins() for end, read in plugin.net_formats.items()}
    return dict(sorted(readers.items(), key=lambda reader: -len(reader[0])))  # `.gz` ends `.pb.gz`


OWN_SUFFIX = ".safetensors"


def net_suffixes() -> tuple[str, ...]:
    """The endings of files that may be named as nets, ours first."""
    return (OWN_SUFFIX, *_readers())


def net_ending(path: Path) -> str:
    """The ending by which a file is known as another program's net; empty for others."""
    return next((end for end in _readers() if path.name.endswith(end)), "")


def read_foreign(path: Path) -> "Model":
    """Read another program's net; raise `UserError` for one that no plugin knows."""
    ending = net_ending(path)
    if not ending:
        raise UserError(f"{path}: nets of other programs end with {', '.join(_readers())}")
    return _readers()[ending](path)


def resolve_net(path: str | Path) -> Path:
    """The path of a net file of ours: itself, or a foreign one converted once and kept."""
    path = Path(path)
    if path.suffix == OWN_SUFFIX:
        return path  # Without a look at the plugins: their packages take time to import.
    read = next((read for end, read in _readers().items() if path.name.endswith(end)), None)
    if read is None:
        return path

    def write(converted: Path) -> None:
        from zerogames.nets.file import save_net

        save_net(converted, read(path))

    return cached_file(f"{net_version(path)}-v2.safetensors", write)
