"""Lc0's weight files: SE-ResNets in and out."""

from typing import TYPE_CHECKING

from zerogames.lazy import import_on_use

if TYPE_CHECKING:
    from zerogames_chess.lc0.network import Lc0Net, read_lc0, write_lc0
    from zerogames_chess.lc0.transfer import export_lc0, import_lc0
else:
    # The command that imports weights shows its help without torch.
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "network": ("Lc0Net", "read_lc0", "write_lc0"),
            "transfer": ("export_lc0", "import_lc0"),
        },
    )

__all__ = ["Lc0Net", "export_lc0", "import_lc0", "read_lc0", "write_lc0"]
