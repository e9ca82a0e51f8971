"""Nets of other programs: Leela Zero's and KataGo's, told by the first bytes of the file."""

from pathlib import Path

from zerogames.data.files import DataFile
from zerogames.errors import UserError
from zerogames.nets.model import Model
from zerogames_go.katago.importing import import_katago
from zerogames_go.katago.network import is_katago
from zerogames_go.leela_zero.importing import import_leela_zero
from zerogames_go.leela_zero.network import is_leela_zero


def read_net(path: Path) -> Model:
    """Read a net; raise `UserError` that says why it cannot be read."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a net file")
    if not path.is_file():
        raise UserError(f"there is no net file {path}")
    try:
        head = DataFile.of_path(path).head()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if is_leela_zero(head):
        return import_leela_zero(path)
    if is_katago(head):
        return import_katago(path)
    raise UserError(f"{path} is no net of Leela Zero or KataGo")
