"""Options of `zerogames uci`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from zerogames.protocol.settings import MAX_HASH_MB, ProtocolSettings

DEFAULT_NNUE_HASH_MB = 16


@dataclass(frozen=True, kw_only=True)
class UciSettings(ProtocolSettings):
    """What plays, and what it may use; a user interface may change most of it by options."""

    net: Path | None = None
    """A net file, ours or Lc0's (.pb.gz), `newest` or `shipped`; by default the newest net of the
    runs below the working directory, else the one that comes with the program."""
    nnue: Path | None = None
    """An NNUE network file to play alpha-beta with instead; `shipped` is the one that comes with
    the program."""
    hash: Annotated[int, Field(ge=1, le=MAX_HASH_MB)] | None = None
    """The mebibytes of the evaluation cache (default 256), or with --nnue of the transposition
    table (default 16)."""
