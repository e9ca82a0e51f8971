"""Training state in one safetensors file: weights, the optimiser's moments and how far it was."""

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from zerogames.atomic import write_bytes_atomically
from zerogames.errors import UserError
from zerogames_chess.nnue.model import NnueModel


def save_checkpoint(
    path: Path, model: NnueModel, optimizer: torch.optim.Optimizer, epoch: int
) -> None:
    """Write the state after `epoch` whole epochs."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for number, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            tensors[f"optimizer.{number}.{name}"] = torch.as_tensor(value)
    m, o, p = model.sizes
    about = {"epoch": epoch, "features": model.features.name, "sizes": [m, o, p]}
    contiguous = {name: value.contiguous() for name, value in tensors.items()}
    metadata = {"nnue": json.dumps(about)}
    write_bytes_atomically(path, save(contiguous, metadata))


def read_about(path: Path) -> tuple[str, tuple[int, int, int], int]:
    """The features, sizes and epoch of a checkpoint."""
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {})["nnue"])
            m, o, p = (int(size) for size in about["sizes"])
            return str(about["features"]), (m, o, p), int(about["epoch"])
    except (SafetensorError, OSError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a checkpoint of `zerogames nnue train`: {error}") from None


def load_checkpoint(
    path: Path, model: NnueModel, optimizer: torch.optim.Optimizer | None = None
) -> int:
    """Load weights, and the optimiser's state if one is given; return the epoch."""
    features, sizes, epoch = read_about(path)
    if features != model.features.name or sizes != model.sizes:
        raise UserError(
            f"{path} is for {features} {sizes}, not {model.features.name} {model.sizes}"
        )
    weights: dict[str, torch.Tensor] = {}
    states: dict[int, dict[str, torch.Tensor]] = {}
    try:
        with safe_open(path, "pt") as file:
            for key in file.keys():  # noqa: SIM118 (not a mapping)
                kind, _, rest = key.partition(".")
                if kind == "model":
                    weights[rest] = file.get_tensor(key)
                else:
                    number, _, name = rest.partition(".")
                    states.setdefault(int(number), {})[name] = file.get_tensor(key)
        model.load_state_dict(weights)
    except (SafetensorError, RuntimeError, ValueError):
        raise UserError(f"{path}: the weights do not fit; the file is damaged") from None
    if optimizer is not None:
        _check_moments(path, states, optimizer)
        whole = optimizer.state_dict()
        whole["state"] = states
        optimizer.load_state_dict(whole)
    return epoch


def _check_moments(
    path: Path, states: dict[int, dict[str, torch.Tensor]], optimizer: torch.optim.Optimizer
) -> None:
    """Raise `UserError` unless Adam's moments are those of the parameters, or there are none."""
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    for number, state in states.items():
        whole = state.keys() == {"step", "exp_avg", "exp_avg_sq"} and 0 <= number < len(parameters)
        if not whole or any(
            tensor.shape not in (parameters[number].shape, torch.Size())
            for tensor in state.values()
        ):
            raise UserError(f"{path}: the moments do not fit; the file is damaged")
