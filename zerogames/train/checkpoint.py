"""A trainer on disk: a folder with the net, the optimizer's tensors and a JSON that seals both.

The folder is written aside, synced and renamed; digests tell a damaged one. Nothing in it is code.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from zerogames.atomic import sync, temporary_path
from zerogames.errors import UserError, first_problem
from zerogames.game import Game
from zerogames.nets import Model, load_net, save_net
from zerogames.train.settings import TrainerSettings

FORMAT = 1
NET_NAME = "net.safetensors"
TENSORS_NAME = "state.safetensors"
STATE_NAME = "trainer.json"
MAX_STATE_BYTES = 1 << 26


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class TrainerState:
    """The content of `trainer.json`, beside the tensors."""

    step: int
    samples: int
    settings: TrainerSettings
    average_updates: int
    norm_batches: int = 100
    """That running statistics stand for; few only at the start of a new net."""
    loss_scale: dict[str, float] = field(default_factory=dict)
    extra: dict[str, JsonValue] = field(default_factory=dict)


_STATE = TypeAdapter(TrainerState)


class DamagedCheckpoint(UserError):
    """Something in the folder is missing or not as it was written."""


def write_checkpoint(
    folder: Path, model: Model, state: TrainerState, tensors: Mapping[str, Tensor]
) -> None:
    """Write a whole folder, or nothing; an older one of that name is replaced."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = temporary_path(folder)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir()
        save_net(aside / NET_NAME, model, step=state.step)
        plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
        (aside / TENSORS_NAME).write_bytes(save(plain))
        about = _STATE.dump_python(state, mode="json")
        digests = {name: _digest(aside / name) for name in (NET_NAME, TENSORS_NAME)}
        sealed = {"format": FORMAT, "digests": digests, "state": about}
        text = json.dumps({"seal": _seal(sealed)} | sealed, allow_nan=False)
        (aside / STATE_NAME).write_text(text, encoding="utf-8")
        for name in (TENSORS_NAME, STATE_NAME):
            sync(aside / name)
        sync(aside)
        _replace(aside, folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    sync(folder.parent)


def read_checkpoint(
    folder: Path, game: Game | None = None
) -> tuple[Model, TrainerState, dict[str, Tensor]]:
    """Read a folder; raise `DamagedCheckpoint` with its name if anything is damaged or missing."""
    state, digests = _read_sealed(folder)
    for name in (NET_NAME, TENSORS_NAME):
        try:
            whole = _digest(folder / name) == digests.get(name)
        except OSError as error:
            raise DamagedCheckpoint(f"{folder}: no {name} ({error.strerror})") from None
        if not whole:
            raise DamagedCheckpoint(f"{folder}: {name} is damaged")
    model, _ = load_net(folder / NET_NAME, game=game)
    try:
        tensors = load_file(folder / TENSORS_NAME)
    except (SafetensorError, OSError) as error:
        raise DamagedCheckpoint(f"{folder}: {TENSORS_NAME} is damaged ({error})") from None
    return model, state, tensors


def _read_sealed(folder: Path) -> tuple[TrainerState, dict[str, str]]:
    path = folder / STATE_NAME
    try:
        if path.stat().st_size > MAX_STATE_BYTES:
            raise DamagedCheckpoint(f"{path} is larger than any checkpoint's")
        sealed = json.loads(path.read_text(encoding="utf-8"))
        seal = sealed.pop("seal")
        if sealed["format"] != FORMAT:
            raise UserError(
                f"{folder} has format {sealed['format']}; this version reads format {FORMAT}"
            )
        if seal != _seal(sealed):
            raise DamagedCheckpoint(f"{folder}: {STATE_NAME} is damaged")
        return _STATE.validate_python(sealed["state"]), dict(sealed["digests"])
    except OSError as error:
        raise DamagedCheckpoint(
            f"{folder} is no checkpoint: {STATE_NAME}: {error.strerror}"
        ) from None
    except ValidationError as error:
        raise UserError(f"{folder}: {STATE_NAME} is wrong at {first_problem(error)}") from None
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, UserError):
            raise
        raise DamagedCheckpoint(f"{folder}: {STATE_NAME} is damaged") from None


def _seal(sealed: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _replace(aside: Path, folder: Path) -> None:
    """Put a folder in another's place; a full folder cannot be renamed over."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    aside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
