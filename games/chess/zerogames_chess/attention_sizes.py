"""The sizes of Lc0's attention policy, as names of nets tell them; needs no torch."""

import re
from dataclasses import dataclass
from typing import Self

from zerogames.errors import UserError
from zerogames.nets.spec import MAX_BLOCKS, MAX_CHANNELS, NetSpec

ATTENTION_SIZES = r"(\d{1,5})\.(\d{1,5})(?:e(\d{1,3})h(\d{1,3})d(\d{1,5})f(\d{1,5}))?(selu)?"
"""The sizes that may follow the policy `attention` in names of nets."""


@dataclass(frozen=True, kw_only=True)
class AttentionSizes:
    """The widths of the head, and its own encoders."""

    embedding: int
    queries: int
    encoders: int = 0
    heads: int = 1
    width: int = 1
    hidden: int = 1
    is_selu: bool = False
    """Whether embedding and encoders have SELU (residual nets of Lc0), not the net's activation."""

    @classmethod
    def of_spec(cls, spec: NetSpec) -> Self:
        """Read `<embedding>.<queries>[e<encoders>h<heads>d<width>f<hidden>][selu]`."""
        if not spec.policy_sizes:
            return cls(embedding=spec.channels, queries=spec.channels)
        found = re.fullmatch(ATTENTION_SIZES, spec.policy_sizes, re.ASCII)
        assert found is not None
        names = ("embedding", "queries", "encoders", "heads", "width", "hidden")
        numbers = {
            name: int(text) for name, text in zip(names, found.groups(), strict=False) if text
        }
        sizes = cls(**numbers, is_selu=found[7] is not None)
        for name, number in numbers.items():
            limit = MAX_BLOCKS if name in ("encoders", "heads") else 8 * MAX_CHANNELS
            if not 1 <= number <= limit:
                raise UserError(f"net '{spec.name}': {name} of the policy must be 1 to {limit}")
        if sizes.width % sizes.heads:
            raise UserError(
                f"net '{spec.name}': {sizes.width} channels of the policy's attention do not "
                f"divide among {sizes.heads} heads"
            )
        return sizes

    def __str__(self) -> str:
        text = f"{self.embedding}.{self.queries}"
        if self.encoders:
            text += f"e{self.encoders}h{self.heads}d{self.width}f{self.hidden}"
        return text + ("selu" if self.is_selu else "")
