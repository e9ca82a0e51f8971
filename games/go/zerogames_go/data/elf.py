"""JSON records of ELF OpenGo: games with search policies and values.

Letters are x and y with y = 0 at the bottom, unlike SGF; policies are 441 numbers of a board with a
border, 0 the pass, the largest scaled to 255.
"""

import json
import re
from collections.abc import Iterator, Mapping

import numpy as np

from zerogames.data.files import DataFile
from zerogames.data.formats import Block, DataGame, ReadContext
from zerogames.data.record import SEARCH_KINDS, VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.data.record_game import RecordGame
from zerogames.errors import UserError

SIZE = 19
_BORDERED = SIZE + 2
_MOVE = re.compile(r";\s*([BW])\[([a-s]{2}|)\]")
_HEAD = re.compile(rb'\s*\[\s*\{.*"(request|result|timestamp|thread_id|seq|pri|offline)"', re.S)
# Where point row * 19 + column lies among the 441 numbers, the pass last.
_INDEX = np.append(((np.arange(SIZE)[:, None] + 1) * _BORDERED + np.arange(SIZE) + 1).ravel(), 0)


class ElfFormat:
    """An array of games with policies."""

    name = "ELF records"
    suffixes = ()

    def matches(self, file: DataFile, head: bytes) -> bool:
        """An array of objects with ELF's fields."""
        return _HEAD.match(head) is not None

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """A file is one block."""
        yield Block(file.name, file.read)

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """Broken games go to the problems by number."""
        try:
            games = json.loads(block.load())
        except (ValueError, RecursionError) as error:
            raise UserError(f"not JSON ({error})") from None
        if not isinstance(games, list):
            raise UserError("not an array of games")
        for number, game in enumerate(games, 1):
            name = f"{block.name} game {number}"
            try:
                yield RecordGame(name, "ELF", _record(game), context)
            except UserError as error:
                context.problems.add(name, str(error))
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                context.problems.add(name, f"a field is missing or wrong ({error!r:.80})")


def _record(game: Mapping[str, Mapping[str, object]]) -> GameRecord:
    result = game["result"]
    content = str(result["content"])
    moves = _MOVE.findall(content)
    if content.count(";") != len(moves) or result["num_move"] != len(moves):
        raise UserError("the moves do not agree with their number")
    if any(colour != "BW"[ply % 2] for ply, (colour, _) in enumerate(moves)):
        raise UserError("the colours do not alternate from Black on")
    actions = [
        (ord(point[1]) - 97) * SIZE + ord(point[0]) - 97 if point else SIZE * SIZE
        for _, point in moves
    ]
    reward = float(str(result["reward"]))
    if not np.isfinite(reward) or reward == 0:
        raise UserError("it has no winner")
    return GameRecord(
        game="go",
        actions=np.array(actions, np.int32),
        result=1.0 if reward > 0 else -1.0,
        reason="resignation" if abs(reward) == 1 else "score",
        search=_search(result, len(moves)),
    )


def _search(result: Mapping[str, object], plies: int) -> SearchColumns | None:
    if not result.get("policies"):
        return None
    policies = np.array(result["policies"], dtype=np.float64)
    values = np.array(result.get("values") or np.full(plies, np.nan), dtype=np.float32)
    if policies.shape != (plies, _BORDERED**2) or values.shape != (plies,):
        raise UserError("policies and values do not fit the moves")
    if not ((policies >= 0) & (policies <= 255)).all() or (np.abs(values) > 1.001).any():
        raise UserError("a policy or value is out of range")
    shares = policies[:, _INDEX]
    sums = shares.sum(1)
    if (sums == 0).any():
        raise UserError("a policy is empty")
    ply, action = np.nonzero(shares)
    unknown = np.full(plies, np.nan, np.float32)
    q = values * np.where(np.arange(plies) % 2 == 0, 1, -1).astype(np.float32)
    return SearchColumns(
        policy_offsets=np.concatenate([[0], np.cumsum((shares > 0).sum(1))]).astype(np.int64),
        policy_actions=action.astype(np.int32),
        policy_visits=shares[ply, action].astype(np.int32),
        policy_targets=(shares[ply, action] / sums[ply]).astype(np.float32),
        values={
            name: q if name in ("root_q", "best_q", "played_q") else unknown
            for name in VALUE_COLUMNS
        },
        surprise=unknown,
        kinds=np.full(plies, SEARCH_KINDS.index("full"), np.uint8),
    )
