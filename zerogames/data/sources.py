"""A data set: any number of files and folders that a game's plugin can read."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from zerogames.data.files import DataFile, find_paths, open_path
from zerogames.data.formats import Block, DataFormat, DataGame, ReadContext, get_game_data
from zerogames.data.problems import OnProblem, Problems
from zerogames.errors import UserError
from zerogames.game import Game, find_encoding

_PROBED = 1000
"""Files looked at to say what a data set is."""


@dataclass(frozen=True)
class Piece:
    """A block with the format that reads it."""

    format: DataFormat
    block: Block
    copy: int = 0
    """The number of times its file was named before."""


class Source:
    """Files of one game; streams blocks and games, never holds more than it reads.

    Args:
        paths: Files, folders, tars of them.
        game: The game they are of.
        encoding: Name of the input encoding with its options; by default the game's first.
        on_problem: `skip` and count what cannot be read, or `stop` with its name.
        engine_values: Take values in comments as the search's.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        game: Game,
        *,
        encoding: str | None = None,
        on_problem: OnProblem = "skip",
        engine_values: bool = False,
    ) -> None:
        encoding = encoding or next(iter(game.encodings))
        self.shape = find_encoding(game, encoding).shape
        if not paths:
            raise UserError("no data: name a file or a folder")
        self.roots = [Path(path) for path in paths]
        self.paths = [path for root in self.roots for path in find_paths(root)]
        self.game = game
        self.formats = get_game_data(game).formats
        self.problems = Problems(on_problem)
        self.ignored = Counter[str]()
        """Files beside the data, such as licences, by ending."""
        self.context = ReadContext(
            game=game, encoding=encoding, problems=self.problems, engine_values=engine_values
        )
        self.found = self._probe()
        """Names of the formats met in the first files, with how many files each."""

    def describe(self) -> str:
        """A line that tells what was recognised."""
        kinds = ", ".join(f"{name} ({count})" for name, count in self.found.items())
        more = "; looked at the first files only" if len(self.paths) > _PROBED else ""
        return f"{len(self.paths)} files: {kinds}{more}"

    def _probe(self) -> dict[str, int]:
        found = Counter[str]()
        quiet = Problems()
        for path in self.paths[:_PROBED]:
            for file in islice(open_path(path, quiet), 1):
                form = self._recognise(file)
                if form is not None:
                    found[form.name] += 1
        if not found and len(self.paths) <= _PROBED:
            known = ", ".join(form.name for form in self.formats)
            names = ", ".join(str(root) for root in self.roots[:3])
            raise UserError(f"{names}: no {self.game.spec.name} data here; readable are: {known}")
        return dict(found.most_common())

    def _recognise(self, file: DataFile) -> DataFormat | None:
        try:
            head = file.head()
        except UserError:
            return None
        return next((form for form in self.formats if form.matches(file, head)), None)

    def pieces(self, order: np.random.Generator | None = None) -> Iterator[Piece]:
        """All blocks; files in an order drawn from `order`, by name without it."""
        paths = self.paths
        if order is not None:
            paths = [paths[index] for index in order.permutation(len(paths))]
        named = Counter[Path]()
        for path in paths:
            for file in open_path(path, self.problems):
                yield from self._pieces_of(file, named[path])
            named[path] += 1

    def _pieces_of(self, file: DataFile, copy: int) -> Iterator[Piece]:
        form = self._recognise(file)
        if form is None:
            self._pass_over(file)
            return
        try:
            for block in form.blocks(file):
                yield Piece(form, block, copy)
        except (UserError, OSError, EOFError) as error:
            self.problems.add(file.name, str(error))

    def _pass_over(self, file: DataFile) -> None:
        suffixes = tuple(suffix for form in self.formats for suffix in form.suffixes)
        if file.name.endswith(suffixes) or Path(file.name) in self.roots:
            kinds = ", ".join(form.name for form in self.formats)
            self.problems.add(file.name, f"not recognised as any of: {kinds}")
        else:
            self.ignored[Path(file.name).suffix] += 1

    def read(self, piece: Piece) -> Iterator[DataGame]:
        """The games of a block; what is broken goes to `problems`."""
        try:
            yield from piece.format.games(piece.block, self.context)
        except (UserError, OSError, EOFError) as error:
            self.problems.add(piece.block.name, str(error))

    def games(self) -> Iterator[DataGame]:
        """All games in the order of the files."""
        for piece in self.pieces():
            yield from self.read(piece)
