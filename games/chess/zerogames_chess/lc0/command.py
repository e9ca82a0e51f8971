"""Turn an Lc0 weights file into a net of ours: `zerogames import weights.pb.gz`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from zerogames.arguments import read_options
from zerogames.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Read a net of Lc0 and write it as a `.safetensors` file."""

    weights: tyro.conf.Positional[Path]
    """A `.pb.gz` file: a residual or attention net with the input format classic."""
    out: Path | None = None
    """The file to write; by default `<weights>.safetensors` in the working directory."""
    policy_head: str = "vanilla"
    """The policy that plays of an attention net: vanilla, optimistic, soft, opponent."""
    value_head: str = "winner"
    """The value that plays of an attention net: winner, q, st."""
    data_licence: str = ""
    """Licence of the data it was trained on, told in the file."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames import`."""
    options = read_options(ImportOptions, argv, "zerogames import")
    from zerogames.nets.file import save_net
    from zerogames_chess.lc0.attention_net import ChosenHeads
    from zerogames_chess.lc0.transfer import import_with_steps

    heads = ChosenHeads(policy=options.policy_head, value=options.value_head)
    model, steps = import_with_steps(options.weights, heads)
    out = options.out or _default_name(options.weights)
    if not out.parent.is_dir():
        raise UserError(f"{out.parent}: there is no such folder")
    save_net(out, model, step=steps, data_licence=options.data_licence)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{out}: {model.spec.name}, {parameters:,} parameters, step {steps}")
    return 0


def _default_name(weights: Path) -> Path:
    name = weights.name.removesuffix(".gz").removesuffix(".pb")
    return Path(f"{name}.safetensors")
