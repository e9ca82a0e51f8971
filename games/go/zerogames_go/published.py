"""The published sizes of the papers' Go nets on 19x19."""

from typing import TYPE_CHECKING

from zerogames.nets.published import PublishedNet, PublishedTable

if TYPE_CHECKING:
    from zerogames.nets.model import Model

_PARAMETERS = {
    "a0.small": 988_405,
    "a0.small.avg": 986_748,
    "a0.small.avg.conv.bin": 968_485,
    "mobile.small": 997_506,
    "mobile.small.conv.avg.bin": 970_477,
}


def _count(model: "Model") -> int:
    from zerogames.nets.summary import count_with_buffers

    return count_with_buffers(model)


PUBLISHED = PublishedTable(
    title="Go 19x19: parameters with moving statistics",
    nets=tuple(
        PublishedNet(label=name, net=name, parameters=count) for name, count in _PARAMETERS.items()
    ),
    count=_count,
    note="The Go papers count moving statistics, as Keras does.",
)
