"""Several nets, each trained with several seeds on the same data: the papers' table."""

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from zerogames.atomic import write_text_atomically
from zerogames.nets import Model, fold_norms, load_net
from zerogames.nets.summary import count_trainable
from zerogames.pretrain.statistics import mean_and_deviation, welch_test
from zerogames.runs.folder import RunPaths
from zerogames.runs.metrics_log import read_lines

SPEED_BATCH = 100
"""The number of positions of a batch, as in the papers' tables."""
_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Validations of one run, all on the same positions; the last one may take more."""

    step: tuple[int, ...]
    policy_accuracy: tuple[float, ...]
    value_mse: tuple[float, ...]
    final_policy_accuracy: float
    final_value_mse: float


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One net with all its runs."""

    name: str
    parameters: int
    speed: float
    """Positions per CPU second of one thread at batch 100."""
    curves: Mapping[int, Curve]
    """The curve of each seed."""

    @property
    def accuracies(self) -> list[float]:
        """The policy accuracy at the end of each run."""
        return [curve.final_policy_accuracy for curve in self.curves.values()]

    @property
    def value_mses(self) -> list[float]:
        """The value's mean squared error at the end of each run."""
        return [curve.final_value_mse for curve in self.curves.values()]


def read_curve(folder: Path) -> Curve | None:
    """The validations of a run; None if there is none yet."""
    lines = [line for line in read_lines(RunPaths(folder).metrics) if "validation" in line]
    if not lines:
        return None
    final = lines[-1].get("final_validation", lines[-1]["validation"])
    return Curve(
        step=tuple(int(line["step"]) for line in lines),
        policy_accuracy=tuple(float(line["validation"]["policy_accuracy"]) for line in lines),
        value_mse=tuple(float(line["validation"]["value_mse"]) for line in lines),
        final_policy_accuracy=float(final["policy_accuracy"]),
        final_value_mse=float(final["value_mse"]),
    )


def collect(folders: Mapping[str, Mapping[int, Path]]) -> list[Compared]:
    """Read the runs of every net by seed, and measure the nets' speed."""
    found: dict[str, dict[int, Curve]] = {}
    for name, by_seed in folders.items():
        for seed, folder in by_seed.items():
            if (curve := read_curve(folder)) is not None:
                found.setdefault(name, {})[seed] = curve
    nets = {
        name: load_net(RunPaths(folders[name][min(curves)]).net)[0]
        for name, curves in found.items()
    }
    sizes = {name: count_trainable(net) for name, net in nets.items()}
    speeds = measure_speeds(nets)
    return [
        Compared(name=name, parameters=sizes[name], speed=speeds[name], curves=curves)
        for name, curves in found.items()
    ]


@torch.inference_mode()
def measure_speeds(nets: Mapping[str, Model]) -> dict[str, float]:
    """Positions per CPU second of one thread; the nets take turns, the best round counts."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        models = {name: fold_norms(net) for name, net in nets.items()}
        best = dict.fromkeys(models, 0.0)
        for _ in range(_ROUNDS + 1):  # the first one warms up and is never the best by much
            for name, model in models.items():
                model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
                planes = torch.zeros(SPEED_BATCH, *model.input_shape)
                start = time.process_time()
                model.evaluate(planes.contiguous(memory_format=torch.channels_last))
                best[name] = max(best[name], SPEED_BATCH / (time.process_time() - start))
        return best
    finally:
        torch.set_num_threads(threads)


def make_table(compared: Sequence[Compared]) -> str:
    """The papers' table as Markdown; the t-tests are against the first net."""
    lines = [
        "| net | parameters | positions/s | seeds | accuracy | p | value MSE | MSE / 4 | p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in compared:
        accuracy, value = _shown(row.accuracies, 100, "%"), _shown(row.value_mses)
        quarter = _shown([mse / 4 for mse in row.value_mses])
        tests = (
            _p(row.accuracies, compared[0].accuracies) if row is not compared[0] else "-",
            _p(row.value_mses, compared[0].value_mses) if row is not compared[0] else "-",
        )
        lines.append(
            f"| `{row.name}` | {row.parameters:,} | {row.speed:,.0f} | {len(row.curves)} "
            f"| {accuracy} | {tests[0]} | {value} | {quarter} | {tests[1]} |"
        )
    return "\n".join(lines)


def _shown(values: Iterable[float], scale: float = 1, unit: str = "") -> str:
    mean, deviation = mean_and_deviation([scale * value for value in values])
    digits = 2 if unit else 4
    spread = "" if math.isnan(deviation) else f" ± {deviation:.{digits}f}"
    return f"{mean:.{digits}f}{spread}{unit}"


def _p(a: Sequence[float], b: Sequence[float]) -> str:
    p = welch_test(a, b)
    return "-" if math.isnan(p) else f"{p:.3f}"


def write_comparison(folder: Path, compared: Sequence[Compared], *, title: str, note: str) -> None:
    """Write `comparison.md`, `comparison.json` and `comparison.png`."""
    from zerogames.pretrain.plot import plot_comparison

    plot_comparison(compared, folder / "comparison.png", title=title)
    text = (
        f"# {title}\n\n{note}\n\n{make_table(compared)}\n\n"
        "Mean ± standard deviation over the seeds at the last validation; p by Welch's t-test "
        "against the first net; positions per CPU second of one thread, batch "
        f"{SPEED_BATCH}, torch.\n\n![curves](comparison.png)\n"
    )
    write_text_atomically(folder / "comparison.md", text)
    table = [
        {
            "net": row.name,
            "parameters": row.parameters,
            "positions_per_cpu_s": row.speed,
            "runs": {str(seed): asdict(curve) for seed, curve in row.curves.items()},
        }
        for row in compared
    ]
    write_text_atomically(folder / "comparison.json", json.dumps(table, indent=1) + "\n")
