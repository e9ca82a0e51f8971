"""Nets: names and specs (without torch), blocks, heads, the model, losses and the net file."""

from typing import TYPE_CHECKING

from zerogames.lazy import import_on_use
from zerogames.nets.spec import NetSpec

if TYPE_CHECKING:
    from zerogames.nets.file import load_net, load_weights, save_net
    from zerogames.nets.folding import fold_norms
    from zerogames.nets.losses import (
        Losses,
        LossSettings,
        Metrics,
        Targets,
        compute_losses,
        compute_metrics,
    )
    from zerogames.nets.model import Model, Output, build_model, win_draw_loss
    from zerogames.nets.names import parse_net_name
    from zerogames.nets.net_info import NetInfo, read_net_info
    from zerogames.nets.summary import Summary, summarize
else:
    # Games import the names of nets; torch is loaded only where a net is made.
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "file": ("load_net", "load_weights", "save_net"),
            "folding": ("fold_norms",),
            "losses": (
                "LossSettings",
                "Losses",
                "Metrics",
                "Targets",
                "compute_losses",
                "compute_metrics",
            ),
            "model": ("Model", "Output", "build_model", "win_draw_loss"),
            "names": ("parse_net_name",),
            "net_info": ("NetInfo", "read_net_info"),
            "summary": ("Summary", "summarize"),
        },
    )

__all__ = [
    "LossSettings",
    "Losses",
    "Metrics",
    "Model",
    "NetInfo",
    "NetSpec",
    "Output",
    "Summary",
    "Targets",
    "build_model",
    "compute_losses",
    "compute_metrics",
    "fold_norms",
    "load_net",
    "load_weights",
    "parse_net_name",
    "read_net_info",
    "save_net",
    "summarize",
    "win_draw_loss",
]
