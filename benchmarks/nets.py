"""Speed and memory of the papers' nets: `python benchmarks/nets.py [--quick | --full]`.

JSON lines on stdout, tables on stderr. Nets that are compared take turns within one run, so that
their ratio means something on a machine that does other work too.
"""

import json
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import tyro
from measure import report
from rich.console import Console
from rich.table import Table
from zerogames_kernels.memory import keep_freed_memory

from zerogames import Game, game_names, get_game
from zerogames.nets import Model, Targets, build_model, compute_losses, fold_norms
from zerogames.nets.losses import optimizer_groups

CHESS_VARIANTS = (
    "res_3x3", "res_5x5", "res_rng", "res_rb", "res_krb",
    "mob_3x3", "mob_5x5", "mob_rng", "mob_rb", "mob_krb", "mob_krb_opti1", "mob_krb_opti2",
)  # fmt: skip
SIZES = ((6, 96), (6, 192), (18, 96))
MEMORY_SIZES = ((6, 96), (12, 96), (18, 96), (6, 192), (12, 192), (18, 192))
GO_NETS = (
    "a0.small", "a0.small.avg", "a0.small.avg.conv.bin", "mobile.small",
    "mobile.small.conv.avg.bin",
)  # fmt: skip
PARTS = ("inference", "training", "ratio", "memory", "go")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to measure."""

    quick: bool = False
    """The smallest size and two runs."""
    full: bool = False
    """Every size also in training, and five runs."""
    parts: tuple[str, ...] = PARTS
    """Any of inference, training, ratio, memory, go."""
    variants: tuple[str, ...] = CHESS_VARIANTS
    """Chess nets without their size."""
    batch: int = 100
    """Positions of a batch for the chess variants, as in the papers."""
    go_batches: tuple[int, ...] = ()
    """Batch sizes of the Go nets; by default 4 to 64, with `--full` to 512."""
    threads: int = 2
    rounds: int = 0
    """Rounds in which all nets take turns; 0 for 2 (quick), 5 (full) or 3."""
    cpu_time: bool = False
    """Count CPU seconds of the process, not the clock's; with `--threads 1` on a busy machine."""

    @property
    def runs(self) -> int:
        """Rounds in which all nets take turns."""
        return self.rounds or (2 if self.quick else 5 if self.full else 3)

    @property
    def clock(self) -> Callable[[], float]:
        """What seconds are counted by."""
        return time.process_time if self.cpu_time else time.perf_counter

    def sizes(self, *, training: bool) -> Sequence[tuple[int, int]]:
        """Blocks and channels."""
        return SIZES[:1] if self.quick or (training and not self.full) else SIZES


def take_turns(
    works: dict[str, Callable[[], float]], options: Options, *, runs: int = 0, seconds: float = 0.3
) -> dict[str, list[float]]:
    """Units per second of every work; each is run until `seconds` are over, in every round."""
    now = options.clock
    rates: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(runs or options.runs):
        for name, work in works.items():
            start, elapsed, units = now(), 0.0, 0.0
            while elapsed < seconds:
                units += work()
                elapsed = now() - start
            rates[name].append(units / elapsed)
    return rates


def make(game: Game, name: str) -> Model:
    model = build_model(game.parse_net(name), game)
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def random_planes(model: Model, batch: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    planes = torch.randint(0, 2, (batch, *model.input_shape), generator=generator).float()
    return planes.contiguous(memory_format=torch.channels_last)


def inference(game: Game, name: str, batch: int) -> Callable[[], float]:
    """As an engine runs it: batch norms folded into the convolutions."""
    model = fold_norms(make(game, name))
    planes = random_planes(model, batch)

    def run() -> float:
        with torch.inference_mode():
            model.evaluate(planes)
        return batch

    return run


def training(game: Game, name: str, batch: int) -> Callable[[], float]:
    model = make(game, name).train()
    planes = random_planes(model, batch)
    actions = game.spec.action_size
    targets = Targets(
        policy=torch.softmax(torch.randn(batch, actions), 1),
        value=torch.softmax(torch.randn(batch, 3), 1),
    )
    optimizer = torch.optim.SGD(optimizer_groups(model), lr=1e-3, momentum=0.9, nesterov=True)

    def run() -> float:
        loss = compute_losses(model(planes), targets, model.spec).total
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return batch

    return run


Maker = Callable[[Game, str, int], Callable[[], float]]


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(*head, title=title)
    for row in rows:
        table.add_row(*row)
    Console(stderr=True).print(table)


def bench_variants(game: Game, options: Options, kind: str, maker: Maker) -> None:
    rows = []
    for blocks, channels in options.sizes(training=kind == "training"):
        works = {
            name: maker(game, f"{name}_{blocks}x{channels}", options.batch)
            for name in options.variants
        }
        rates = take_turns(works, options)
        for name, values in rates.items():
            net = f"{name}_{blocks}x{channels}"
            report(f"{kind} of {net}, batch {options.batch}", values, unit="positions/s")
            rate = statistics.median(values)
            rows.append((net, f"{1000 * options.batch / rate:.1f}", f"{rate:.0f}"))
    print_table(f"{kind}, batch {options.batch}", ("net", "ms a batch", "positions/s"), rows)


def bench_ratio(game: Game, options: Options) -> None:
    """The compact kernel against torch's grouped 5x5 convolution with a mask."""
    for kind, maker, target in (("inference", inference, None), ("training", training, 1.5)):
        names = {"native": "mob_krb_6x96", "naive": "mob_krb_dense_6x96"}
        works = {key: maker(game, net, 128) for key, net in names.items()}
        rates = take_turns(works, options, runs=options.rounds or max(options.runs, 3), seconds=1.0)
        report(
            f"{kind} of mob_krb_6x96, batch 128",
            rates["native"],
            unit="positions/s",
            peer=("torch masked 5x5, channels_last", rates["naive"]),
            target=target,
        )


def _memory_child(
    name: str, batch: int, options: Options, pipe: multiprocessing.connection.Connection
):
    torch.set_num_threads(options.threads)
    run = inference(get_game("chess"), name, 1)
    run()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = inference(get_game("chess"), name, batch)
    times = []
    for _ in range(3):
        start = options.clock()
        run()
        times.append(options.clock() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pipe.send((min(times), (peak - before) / 1024))


def bench_memory(options: Options) -> None:
    """Each net in a process of its own, for its peak."""
    rows = []
    context = multiprocessing.get_context("spawn")
    for blocks, channels in MEMORY_SIZES[: 1 if options.quick else None]:
        for block in ("mob_krb", "mob_5x5") if options.full else ("mob_krb",):
            net = f"{block}_{blocks}x{channels}"
            ours, theirs = context.Pipe(duplex=False)
            child = context.Process(target=_memory_child, args=(net, 1024, options, theirs))
            child.start()
            theirs.close()
            seconds, megabytes = ours.recv()
            child.join()
            line = {"name": f"{net}, batch 1024", "latency_s": round(seconds, 4)}
            print(json.dumps({**line, "memory_mb": round(megabytes, 1)}), flush=True)
            rows.append((net, f"{seconds:.3f}", f"{megabytes:.0f}"))
    print_table("inference, batch 1024", ("net", "latency s", "memory MB"), rows)


def bench_go(game: Game, options: Options) -> None:
    """Batches per second, as the Go paper's Tables I and II."""
    batches = (4, 32) if options.quick else (4, 8, 16, 32, 64, 128, 256, 512)
    if not options.full:
        batches = tuple(batch for batch in batches if batch <= 64)
    batches = options.go_batches or batches
    rows = []
    for batch in batches:
        works = {net: inference(game, net, batch) for net in GO_NETS}
        rates = take_turns(works, options, runs=min(options.runs, 3))
        for net, values in rates.items():
            report(f"inference of {net}, batch {batch}", values, unit="positions/s")
            rate = statistics.median(values)
            rows.append((net, str(batch), f"{rate / batch:.2f}", f"{rate:.1f}"))
    rows.sort(key=lambda row: (GO_NETS.index(row[0]), int(row[1])))
    head = ("net", "batch", "batches/s", "forward passes/s")
    print_table("Go 19x19, inference", head, rows)
    if options.quick:
        return
    works = {net: training(game, net, 32) for net in GO_NETS}
    rows = []
    for net, values in take_turns(works, options, runs=2).items():
        report(f"training of {net}, batch 32", values, unit="positions/s")
        rows.append((net, f"{statistics.median(values) / 32:.3f}"))
    print_table("Go 19x19, training, batch 32", ("net", "batches/s"), rows)


def main(options: Options) -> int:
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    installed = game_names()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        print(f"unknown parts {sorted(unknown)}; known: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    if "chess" in installed:
        chess = get_game("chess")
        if "inference" in options.parts:
            bench_variants(chess, options, "inference", inference)
        if "training" in options.parts:
            bench_variants(chess, options, "training", training)
        if "ratio" in options.parts:
            bench_ratio(chess, options)
        if "memory" in options.parts:
            bench_memory(options)
    if "go" in installed and "go" in options.parts:
        bench_go(get_game("go"), options)
    return 0


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Options)))
