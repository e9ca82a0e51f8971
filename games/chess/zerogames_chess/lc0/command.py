"""Turn a net of another program (Lc0, KataGo, Leela Zero) into one of ours, and say what it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from zerogames.arguments import read_options
from zerogames.errors import UserError

if TYPE_CHECKING:
    from zerogames.nets.model import Model

LARGE_BYTES = 200_000_000
"""Weights of nets that are measured in torch, as they are in memory then; a play's form of them
takes time and memory to make."""


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Read another program's net and write it as a `.safetensors` file."""

    weights: tyro.conf.Positional[Path]
    """The file, e.g. Lc0's `.pb.gz`, KataGo's `.bin.gz` or Leela Zero's `.txt.gz`."""
    out: Path | None = None
    """The file to write; by default `<weights>.safetensors` in the working directory."""
    policy_head: str = "vanilla"
    """The policy that plays of Lc0's attention nets: vanilla, optimistic, soft, opponent."""
    value_head: str = "winner"
    """The value that plays of Lc0's attention nets: winner, q, st."""
    data_licence: str = ""
    """Licence of the data it was trained on, told in the file."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames import`."""
    options = read_options(ImportOptions, argv, "zerogames import")
    from zerogames.nets.file import save_net
    from zerogames.nets.foreign import net_ending

    out = options.out or Path(
        f"{options.weights.name.removesuffix(net_ending(options.weights))}.safetensors"
    )
    if not out.parent.is_dir():
        raise UserError(f"{out.parent}: there is no such folder")
    model, steps = _read(options)
    save_net(out, model, step=steps, data_licence=options.data_licence)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{out}: {model.spec.name}, {parameters:,} parameters, step {steps}")
    _describe(model, out)
    return 0


def _read(options: ImportOptions) -> "tuple[Model, int]":
    """The net and its training steps, if the file tells them."""
    from zerogames.nets.foreign import net_ending, read_foreign
    from zerogames_chess.lc0.attention_net import ChosenHeads
    from zerogames_chess.lc0.transfer import SUFFIXES, import_with_steps

    heads = ChosenHeads(policy=options.policy_head, value=options.value_head)
    if net_ending(options.weights) in ("", *SUFFIXES):
        return import_with_steps(options.weights, heads)
    if heads != ChosenHeads():
        raise UserError("--policy-head and --value-head are for Lc0's attention nets")
    return read_foreign(options.weights), 0


def _describe(model: "Model", path: Path) -> None:
    """Print who made a net and what it costs."""
    from zerogames.evaluate import open_evaluator
    from zerogames.evaluate.speed import measure_speed
    from zerogames.evaluate.torch_ import TorchEvaluator
    from zerogames.nets.summary import summarize
    from zerogames.registry import get_game

    summary = summarize(model)
    print(f"game         {model.spec.game}, input {model.spec.encoding}")
    print(f"origin       {model.origin or 'not told'}")
    print(f"arithmetic   {summary.flops / 1e6:,.0f} MFLOP per position")
    print(f"weights      {summary.weight_bytes / 1e6:,.1f} MB")
    if summary.weight_bytes > LARGE_BYTES:
        evaluator, form = TorchEvaluator(model, version="", device="cpu"), "torch"
        speed = measure_speed(evaluator, model.input_shape)
    else:
        native, form = open_evaluator(get_game(model.spec.game), net=path), "one CPU thread"
        speed = measure_speed(native, model.input_shape)
    print(f"speed here   {speed.describe(form)}")
