"""What a native plugin needs: the C++ headers and the choice of its compiled variant."""

from pathlib import Path

from zerogames_kernels.native import cpu_level, limit_level, load_variant

__all__ = ["cpu_level", "get_include", "limit_level", "load_variant"]


def get_include() -> Path:
    """Return the folder with `zerogames/game.hpp`, for compiling a game of one's own."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / "selfplay" / "core" / "include"
    return checkout if checkout.is_dir() else package / "include"
