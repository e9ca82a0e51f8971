"""The published sizes of the papers' chess nets."""

from typing import TYPE_CHECKING

from zerogames.nets.published import PublishedNet, PublishedTable

if TYPE_CHECKING:
    from zerogames.nets.model import Model

_ROWS = {
    "Residual": ("res", [(6, 96, 7.195, 5.426), (12, 96, 10.046, 6.507), (18, 96, 12.897, 7.589),
                         (6, 192, 16.017, 8.939)]),
    "MobileNet": ("mob", [(6, 96, 4.921, 4.865), (12, 96, 5.755, 5.645), (18, 96, 6.590, 6.424),
                          (6, 192, 7.265, 7.154), (18, 192, 13.589, 13.257)]),
    "ConvNeXt": ("cnx", [(6, 96, 4.546, 4.537), (18, 96, 5.466, 5.438), (6, 192, 5.907, 5.889)]),
}  # fmt: skip


def count_by_papers(model: "Model") -> int:
    """Count without the norms inside `mob` and `cnx` blocks and without the scale of the stem's."""
    from zerogames.nets.layers import BatchNorm
    from zerogames.nets.summary import count_trainable

    spec = model.spec
    left_out = 0
    if spec.stages[0].block in ("mob", "cnx") and spec.convention == "lc0":
        norms = (part for part in model.blocks.modules() if isinstance(part, BatchNorm))
        left_out += sum(count_trainable(norm) for norm in norms)
    for part in model.stem.children():
        if isinstance(part, BatchNorm) and spec.convention == "lc0":
            left_out += part.weight.numel()
    return count_trainable(model) - left_out


PUBLISHED = PublishedTable(
    title="Chess: parameters in millions",
    nets=tuple(
        PublishedNet(
            label=f"{family} {blocks}x{channels}, {filters} filters",
            net=f"{block}_{kernel}_{blocks}x{channels}+scalar",
            parameters=published * 1e6,
            tolerance=1500,
        )
        for family, (block, rows) in _ROWS.items()
        for blocks, channels, *numbers in rows
        for filters, kernel, published in zip(
            ("5x5", "chess"), ("5x5", "krb"), numbers, strict=True
        )
    ),
    count=count_by_papers,
    note="The chess papers leave out the batch norms inside MobileNet and ConvNeXt blocks and have "
    "a scalar value and no moves-left head.",
    millions=True,
)
