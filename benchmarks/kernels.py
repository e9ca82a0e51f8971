"""The depthwise kernel and a MobileNet built on it, against torch's masked 5x5 convolution.

    python benchmarks/kernels.py [--threads 2] [--batch 128] [--runs 7] [--cpu-time]

Peer and kernel run alternately in one process, so a busy machine slows both. On a machine so busy
that threads wait for cores, `--threads 1 --cpu-time` counts the process's own time. The process
keeps freed memory, as the trainer's does; otherwise what is measured is mostly which of them gets
pages that are already mapped. The peers are what a user of plain torch has:
`conv2d(x, weight * mask, groups=C)`, and a full 3x3 kernel.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))

from measure import report
from zerogames_kernels import Pattern
from zerogames_kernels.memory import keep_freed_memory
from zerogames_kernels.modules import BoardDepthwise, norm_depthwise_norm, norm_relu

ROOK = Pattern.from_mask("rook", "00100 00100 11111 00100 00100")
BISHOP = Pattern.from_mask("bishop", "10001 01010 00100 01010 10001")
KNIGHT = Pattern.from_mask("knight", "01010 10001 00100 10001 01010")
KRB = (KNIGHT, ROOK, BISHOP)


class MaskedDepthwise(nn.Module):
    """A grouped 5x5 convolution whose weights are multiplied by the patterns' mask."""

    mask: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        live = BoardDepthwise(channels, KRB).dense_weight().detach()
        self.weight = nn.Parameter(live)
        self.register_buffer("mask", (live != 0).float())

    def forward(self, x: Tensor) -> Tensor:
        """Convolve `[B, C, H, W]`."""
        return F.conv2d(x, self.weight * self.mask, padding=2, groups=x.shape[1])


class Block(nn.Module):
    """MobileNet block: 1x1, norm, ReLU, depthwise, norm, ReLU, 1x1, norm, SE, skip, ReLU."""

    def __init__(self, channels: int, expansion: int, native: bool) -> None:
        super().__init__()
        expanded = channels * expansion
        self.native = native
        self.expand = nn.Conv2d(channels, expanded, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(expanded)
        self.depthwise = BoardDepthwise(expanded, KRB) if native else MaskedDepthwise(expanded)
        self.norm2 = nn.BatchNorm2d(expanded)
        self.project = nn.Conv2d(expanded, channels, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(channels)
        self.squeeze = nn.Linear(channels, channels // 2)
        self.excite = nn.Linear(channels // 2, 2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        """Transform `[B, C, H, W]`."""
        inner = self.expand(x)
        if isinstance(self.depthwise, BoardDepthwise):
            inner = norm_depthwise_norm(inner, self.norm1, self.depthwise, self.norm2)
            inner = norm_relu(self.project(inner), self.norm3, relu=False)
        else:
            inner = F.relu(self.norm1(inner))
            inner = F.relu(self.norm2(self.depthwise(inner)))
            inner = self.norm3(self.project(inner))
        scale, shift = self.excite(F.relu(self.squeeze(inner.mean((2, 3))))).chunk(2, dim=1)
        inner = torch.sigmoid(scale)[:, :, None, None] * inner + shift[:, :, None, None]
        return F.relu(x + inner)


def make_net(native: bool) -> nn.Sequential:
    """The trunk of `mob_krb_6x96` with its 1x1 input convolution and a small value head."""
    blocks = [Block(96, 6, native) for _ in range(6)]
    head = [nn.Conv2d(96, 32, 1), nn.ReLU(), nn.Flatten(), nn.Linear(2048, 3)]
    net = nn.Sequential(nn.Conv2d(112, 96, 1, bias=False), *blocks, *head)
    return net.to(memory_format=torch.channels_last)


def alternate(units: int, runs: int, *works: Callable[[], None]) -> list[list[float]]:
    """Units per second of every work, run in turn."""
    clock = time.process_time if options.cpu_time else time.perf_counter
    for work in works:
        work()
    rates: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, out in zip(works, rates, strict=True):
            start = clock()
            work()
            out.append(units / (clock() - start))
    return rates


def layer_steps(layer: nn.Module, x: Tensor) -> dict[str, Callable[[], None]]:
    """Forward alone, and backward to input and weights of an output computed before."""
    y = layer(x)
    grad = torch.randn_like(y)

    def forward() -> None:
        with torch.inference_mode():
            layer(x)

    def backward() -> None:
        torch.autograd.grad(y, (x, *layer.parameters()), grad, retain_graph=True)

    return {"forward": forward, "backward": backward}


def bench_layer(batch: int, runs: int) -> None:
    layouts = {"channels_last": torch.channels_last, "nchw": torch.contiguous_format}
    for name, layout in layouts.items():
        x = torch.randn(batch, 576, 8, 8).contiguous(memory_format=layout).requires_grad_()
        kernel = layer_steps(BoardDepthwise(576, KRB), x)
        masked = layer_steps(MaskedDepthwise(576), x)
        square = layer_steps(nn.Conv2d(576, 576, 3, padding=1, groups=576, bias=False), x)
        for step in kernel:
            rates, *peers = alternate(batch, 3 * runs, kernel[step], masked[step], square[step])
            for peer, peer_rates in zip(("masked 5x5", "3x3"), peers, strict=True):
                report(
                    f"depthwise krb 576x8x8, batch {batch}, {name}, {step}",
                    rates,
                    unit="boards/s",
                    peer=(f"torch {peer}", peer_rates),
                    target=2.0 if peer == "masked 5x5" and name == "channels_last" else None,
                )


def bench_fusion(batch: int, runs: int) -> None:
    """What fusing the depthwise layer with the pointwise one behind it could save at most.

    A fused kernel would neither write the depthwise output nor read it again: the time of a copy.
    """
    block = Block(96, 6, native=True).eval().to(memory_format=torch.channels_last)
    x = torch.randn(batch, 96, 8, 8).contiguous(memory_format=torch.channels_last)
    inner = torch.randn(batch, 576, 8, 8).contiguous(memory_format=torch.channels_last)
    out = torch.empty_like(inner)

    def pointwise() -> None:
        block.expand(x)
        block.project(inner)

    def depthwise() -> None:
        block.depthwise(inner)

    def copy() -> None:
        out.copy_(inner)

    with torch.no_grad():
        times = [
            statistics.median(1 / rate for rate in rates)
            for rates in alternate(1, 3 * runs, pointwise, depthwise, copy)
        ]
    names = ("two pointwise layers", "depthwise layer", "copy of its output")
    shown = ", ".join(f"{n} {1000 * t:.2f} ms" for n, t in zip(names, times, strict=True))
    share = times[2] / (times[0] + times[1])
    print(f"# {shown}: fusing saves at most {share:.0%}", file=sys.stderr)


def bench_training(batch: int, runs: int) -> None:
    planes = torch.randn(batch, 112, 8, 8).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 3, (batch,))

    def trainer(native: bool) -> Callable[[], None]:
        torch.manual_seed(0)
        net = make_net(native).train()
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(net(planes), labels).backward()
            optimizer.step()

        return step

    rates, peer = alternate(batch, runs, trainer(True), trainer(False))
    report(
        f"training mob_krb_6x96, batch {batch}",
        rates,
        unit="positions/s",
        peer=("torch masked 5x5, channels_last", peer),
        target=1.5,
    )
    pairs = [a / b for a, b in zip(rates, peer, strict=True)]
    print(f"# ratios of neighbouring runs: median {statistics.median(pairs):.2f}", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--cpu-time", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    bench_layer(options.batch, options.runs)
    bench_fusion(options.batch, options.runs)
    bench_training(options.batch, options.runs)
