"""Net files of other programs, wherever a net is named.

A plugin offers a reader through the entry-point group `zerogames.net_formats`: an entry named like
the files' ending, such as `pb.gz`, that names a function from a path to one of our models.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from zerogames.cache import cached_file
from zerogames.nets.net_info import net_version

GROUP = "zerogames.net_formats"


@cache
def _formats() -> dict[str, EntryPoint]:
    return {f".{point.name}": point for point in entry_points(group=GROUP)}


def net_suffixes() -> tuple[str, ...]:
    """The endings of files that may be named as nets, ours first."""
    return (".safetensors", *_formats())


def resolve_net(path: str | Path) -> Path:
    """The path of a net file of ours: itself, or a foreign one converted once and kept."""
    path = Path(path)
    reader = next((point for end, point in _formats().items() if path.name.endswith(end)), None)
    if reader is None:
        return path
    convert = reader.load

    def write(converted: Path) -> None:
        from zerogames.nets.file import save_net

        save_net(converted, convert()(path))

    return cached_file(f"{net_version(path)}-v1.safetensors", write)
