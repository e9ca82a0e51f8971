"""The log of a run's metrics: lines of JSON, and TensorBoard's events."""

import io
import json
import math
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zerogames.atomic import append_durably, write_text_atomically


class JsonLines:
    """A file with one JSON object per line, each with the `step` it belongs to."""

    def __init__(self, path: Path, *, last_step: int) -> None:
        """Continue a file; drop lines of steps after `last_step`, which a killed run made."""
        self._path = path
        self.lines = [line for line in read_lines(path) if line.get("step", 0) <= last_step]
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            write_text_atomically(path, text)

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a line; numbers that are not finite become null."""
        text = json.dumps(_finite(line), allow_nan=False) + "\n"
        append_durably(self._path, text.encode())
        self.lines.append(dict(line))


def read_lines(path: Path, problems: list[str] | None = None) -> list[dict[str, Any]]:
    """All whole lines of a file; none if it is missing.

    A last line that is being written, or was cut off, does not count. `problems` takes a sentence
    for each other line that is not a JSON object.
    """
    try:
        texts = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        if problems is None:
            raise
        problems.append(f"{path.name}: {error.strerror or error}")
        return []
    lines = []
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if isinstance(line, dict):
            lines.append(line)
        elif problems is not None and number < len(texts):
            problems.append(f"{path.name}, line {number}: not a JSON object; left out")
    return lines


class Events:
    """TensorBoard's files in a run's folder; events after `step` are purged."""

    def __init__(self, folder: Path, *, step: int) -> None:
        self._folder = folder
        self._purge_step = step + 1
        self._path: Path | None = None

    def add(self, group: str, line: Mapping[str, Any]) -> None:
        """Write the finite numbers of a line under its `step`."""
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary

        if self._path is None:
            name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
            self._folder.mkdir(exist_ok=True)
            self._path = self._folder / f"{name}.{os.getpid()}.{id(self)}"
            self._write(file_version="brain.Event:2")
            start = SessionLog(status=SessionLog.START)
            self._write(step=self._purge_step, session_log=start)
        values = [
            Summary.Value(tag=f"{group}/{name}", simple_value=value)
            for name, value in line.items()
            if name != "step" and isinstance(value, int | float) and math.isfinite(value)
        ]
        self._write(step=line["step"], summary=Summary(value=values))

    def _write(self, **content: Any) -> None:
        """Append an event here and now: the thread of torch's writer prints its own errors."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        assert self._path is not None
        record = io.BytesIO()
        RecordWriter(record).write(Event(wall_time=time.time(), **content).SerializeToString())
        append_durably(self._path, record.getvalue())


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
