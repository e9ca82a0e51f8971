"""Speed of a net in every form that runs here: `python benchmarks/deploy.py [--nets FILE ...]`.

JSON lines on stdout, a table on stderr (`--markdown`: as in the README). Forms of a net take turns
within one run, so that their ratio means something on a machine that does other work too.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from measure import report
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from zerogames import Game, get_game
from zerogames.evaluate import Evaluator
from zerogames.evaluate.int8_ import open_int8
from zerogames.evaluate.native_ import NativeEvaluator, open_native
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.evaluate.torch_ import TorchEvaluator
from zerogames.export.int8 import SENSITIVE
from zerogames.export.native import make_native, plan_native
from zerogames.export.onnx_file import build_onnx
from zerogames.export.positions import random_positions
from zerogames.export.qdq import Quantizer
from zerogames.nets import Model
from zerogames.runs.net_source import find_net

FORMS = ("torch", "onnx fp32", "onnx fp16", "native fp32", "onnx int8", "native int8")
BASE = "onnx fp32"
KEPT = {"conv": SENSITIVE[-1][1]}
"""What int8 leaves in float32 by kind of policy, as for maia-1500."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to measure."""

    nets: tuple[str, ...] = ("mob_krb_6x96", "mob_3x3_6x96", "res_3x3_6x96")
    """Names of new nets, or net files."""
    game: str = "chess"
    forms: tuple[str, ...] = FORMS
    batches: tuple[int, ...] = (1, 8, 64, 256)
    threads: tuple[int, ...] = (1, 2)
    runs: int = 5
    """Rounds in which all forms take turns."""
    seconds: float = 0.2
    """Of each turn."""
    cpu_time: bool = False
    """Count CPU seconds, on one thread only: for a busy machine."""
    markdown: bool = False


def make_forms(model: Model, game: Game, options: Options, threads: int) -> dict[str, Evaluator]:
    """The evaluators of a net; forms that this CPU or net has not are left out."""
    encoding = model.spec.encoding
    fp32 = build_onnx(model, game)
    evaluators: dict[str, Evaluator] = {}
    if "torch" in options.forms:
        torch.set_num_threads(threads)
        evaluators["torch"] = TorchEvaluator(model, version="")
    for form, half in (("onnx fp32", False), ("onnx fp16", True)):
        if form in options.forms:
            graph = build_onnx(model, game, half=True) if half else fp32
            evaluators[form] = OnnxEvaluator(
                graph.SerializeToString(), version="", encoding=encoding, threads=threads
            )
    if "native fp32" in options.forms and plan_native(model.program(game)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.native"
            path.write_bytes(make_native(model.program(game)))
            evaluators["native fp32"] = open_native(
                path, version="", encoding=encoding, threads=threads
            )
    if {"onnx int8", "native int8"} & set(options.forms):
        quantizer = Quantizer(model.program(game), random_positions(game, encoding, 64))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "int8.onnx"
            kept = KEPT.get(model.spec.policy, SENSITIVE[0][1])
            path.write_bytes(quantizer.build(kept).SerializeToString())
            for form, native in (("onnx int8", False), ("native int8", None)):
                evaluator = open_int8(
                    path, version="", encoding=encoding, threads=threads, native=native
                )
                if form in options.forms and (native is False) != isinstance(
                    evaluator, NativeEvaluator
                ):
                    evaluators[form] = evaluator
    return evaluators


def take_turns(
    evaluators: dict[str, Evaluator], planes: NDArray[np.float32], options: Options
) -> dict[str, list[float]]:
    """Positions per second of every form."""
    now: Callable[[], float] = time.process_time if options.cpu_time else time.perf_counter
    rates: dict[str, list[float]] = {form: [] for form in evaluators}
    for evaluator in evaluators.values():
        evaluator.evaluate(planes)
    for _ in range(options.runs):
        for form, evaluator in evaluators.items():
            start, elapsed, count = now(), 0.0, 0
            while elapsed < options.seconds:
                evaluator.evaluate(planes)
                count += len(planes)
                elapsed = now() - start
            rates[form].append(count / elapsed)
    return rates


def bench(net: str, game: Game, options: Options) -> list[tuple[str, ...]]:
    """Measure one net; a row for each form and number of threads."""
    source = find_net(net, game)
    model = source.load()[0]
    title = source.name or Path(net).name.partition(".")[0]
    positions = random_positions(game, model.spec.encoding, max(options.batches))
    rows = []
    for threads in options.threads:
        evaluators = make_forms(model.eval(), game, options, threads)
        cells: dict[str, list[str]] = {form: [] for form in evaluators}
        for batch in options.batches:
            planes = np.ascontiguousarray(positions[:batch])
            rates = take_turns(evaluators, planes, options)
            for form, found in rates.items():
                report(
                    f"{title}, {form}, batch {batch}, {threads} threads",
                    found,
                    unit="positions/CPU s" if options.cpu_time else "positions/s",
                    peer=(BASE, rates[BASE]) if BASE in rates and form != BASE else None,
                )
                cells[form].append(f"{max(found):,.0f}")
                if BASE in rates and form != BASE:
                    cells[form][-1] += f" ({max(found) / max(rates[BASE]):.2f}x)"
        rows += [(title, form, str(threads), *cells[form]) for form in evaluators]
    return rows


def main(options: Options) -> int:
    unknown = set(options.forms) - set(FORMS)
    if unknown:
        print(f"unknown forms {sorted(unknown)}; known: {', '.join(FORMS)}", file=sys.stderr)
        return 2
    if options.cpu_time and options.threads != (1,):
        print("CPU seconds mean something for one thread only: add --threads 1", file=sys.stderr)
        return 2
    game = get_game(options.game)
    rows = [row for net in options.nets for row in bench(net, game, options)]
    head = ("net", "form", "threads", *(f"batch {batch}" for batch in options.batches))
    if options.markdown:
        lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
        print("\n".join(lines), file=sys.stderr)
        return 0
    unit = "CPU second" if options.cpu_time else "second"
    table = Table(*head, title=f"positions a {unit}, best of {options.runs} (against {BASE})")
    for row in rows:
        table.add_row(*row)
    Console(stderr=True).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Options)))
