"""Reads what the person types, shows the board, and lets the opponent move."""

import random
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table as TextTable

from zerogames.engine.levels import LEVELS
from zerogames.errors import UserError
from zerogames.play.adviser import Advice, Adviser
from zerogames.play.table import SIDES, Table

HELP = f"""\
a move         as shown by `moves`
hint           what the opponent would play in your place, with policy and value
undo           take back your last move and the answer
moves          all legal moves
board          draw the board again
go             let the opponent move for you
swap           change sides
level N        strength 1 to {len(LEVELS)}
nodes N        the same, as nodes a move
new [SIDE]     a new game; SIDE is first, second or random
resign         give up
save FILE      write the game down
quit           leave"""
MOST_MOVES = 40
"""The most moves listed with an error."""
MOST_HINTS = 6
"""The most moves shown by a hint."""
LARGEST_NODES = 10_000_000


class Dialogue:
    """Games of one person; `read` returns a typed line or raises `EOFError`."""

    def __init__(
        self,
        table: Table,
        adviser: Adviser,
        console: Console,
        *,
        read: Callable[[str], str] = input,
        rng: random.Random | None = None,
    ) -> None:
        self._table = table
        self._adviser = adviser
        self._console = console
        self._read = read
        self._rng = rng or random.Random()
        self._commands: dict[str, Callable[[str], None]] = {
            "hint": self._hint,
            "undo": self._undo,
            "moves": self._moves,
            "board": self._board,
            "go": self._go,
            "swap": self._swap,
            "level": self._level,
            "nodes": self._nodes,
            "new": self._new,
            "resign": self._resign,
            "save": self._save,
            "help": self._help,
        }

    def run(self) -> None:
        """Read and answer lines until the person leaves."""
        self._say(
            f"You play {self._side()} against {self._adviser.name}, {self._adviser.nodes} nodes "
            "a move. `help` tells what you can type."
        )
        self._board()
        self._go_on()
        while True:
            try:
                over = self._table.result is not None
                line = self._read("game over> " if over else f"{self._side()}> ")
            except EOFError:
                self._say("")
                return
            words = line.split(maxsplit=1)
            if words and words[0].lower() in ("quit", "exit", "q"):
                return
            try:
                self._obey(line.strip())
            except UserError as error:
                self._say(str(error))

    def _side(self) -> str:
        return SIDES[self._table.person]

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _obey(self, line: str) -> None:
        if not line:
            return
        word, _, rest = line.partition(" ")
        command = self._commands.get(word.lower()) or (self._help if word == "?" else None)
        if command is not None:
            command(rest.strip())
            return
        self._require_game()
        table = self._table
        try:
            action = table.game.parse_action(table.state, line)
        except UserError as error:
            moves = table.legal_moves()
            shown = ", ".join(moves[:MOST_MOVES]) + (", ..." if len(moves) > MOST_MOVES else "")
            raise UserError(f"{error}. You can play {shown}; or type help.") from None
        table.play(action)
        self._go_on(show=True)

    def _go_on(self, *, show: bool = False) -> None:
        """Let the opponent move, and pass for whoever can do nothing else, until the person's turn.

        `show` draws the board also where nobody moved.
        """
        table = self._table
        while table.result is None:
            if self._only_pass():
                who = "You" if table.is_persons_turn else "The opponent"
                self._say(f"{who} can only pass.")
                table.play(int(table.state.legal_actions()[0]))
            elif table.is_persons_turn:
                break
            else:
                self._answer()
            show = True
        if show:
            self._board()
        if table.result is not None:
            self._say(self._outcome())

    def _only_pass(self) -> bool:
        moves = self._table.legal_moves()
        return len(moves) == 1 and moves[0].lower() == "pass"

    def _answer(self) -> None:
        began = time.monotonic()
        advice, _ = self._think()
        elapsed = time.monotonic() - began
        action = self._adviser.choose(advice)
        move = self._table.game.format_action(self._table.state, action)
        self._table.play(action)
        self._say(
            f"The opponent plays {move} and expects {100 * advice.score:.0f} % of the points "
            f"({advice.nodes} nodes, {elapsed:.1f} s)."
        )

    def _think(self) -> tuple[Advice, str]:
        """What the adviser finds, and its move as text."""
        table = self._table
        advice = self._adviser.think(table.start, table.actions)
        return advice, table.game.format_action(table.state, advice.best)

    def _require_game(self) -> None:
        if self._table.result is not None:
            raise UserError("The game is over; type new, undo, save FILE or quit.")

    def _outcome(self) -> str:
        table = self._table
        result = table.result
        reason = f" ({table.reason})" if table.reason else ""
        if result == 0:
            return f"A draw{reason}."
        winner = 0 if result is not None and result > 0 else 1
        return f"{'You win' if winner == table.person else 'The opponent wins'}{reason}."

    def _hint(self, rest: str = "") -> None:
        table = self._table
        if not table.is_persons_turn:
            raise UserError("The game is over: there is nothing to advise.")
        advice, _ = self._think()
        text = TextTable("move", box=None, pad_edge=False)
        for heading in ("policy", "search", "value"):
            text.add_column(heading, justify="right")
        for move in advice.moves[:MOST_HINTS]:
            text.add_row(
                table.game.format_action(table.state, move.action),
                "" if move.policy is None else f"{100 * move.policy:.1f} %",
                f"{100 * move.visits:.1f} %",
                "" if move.score is None else f"{100 * move.score:.0f} %",
            )
        self._console.print(text)
        at_first = ""
        if advice.net_score is not None:
            at_first = f"; at first sight {100 * advice.net_score:.0f} %"
        self._say(f"You may expect {100 * advice.score:.0f} % of the points{at_first}.")

    def _undo(self, rest: str = "") -> None:
        count = self._table.take_back()
        self._say(f"Taken back: {count} plies." if count else "You go on after all.")
        self._go_on(show=True)

    def _moves(self, rest: str = "") -> None:
        if self._table.result is not None:
            raise UserError("The game is over: there are no moves.")
        self._say(", ".join(self._table.legal_moves()))

    def _board(self, rest: str = "") -> None:
        table = self._table
        last_action = table.actions[-1] if table.actions else None
        picture = table.game.render(table.state, last_action=last_action)
        colour = self._console.color_system is not None
        print(picture.ansi(colour=colour), file=self._console.file)

    def _go(self, rest: str = "") -> None:
        self._require_game()
        advice, move = self._think()
        self._say(f"For you: {move}.")
        self._table.play(advice.best)
        self._go_on(show=True)

    def _swap(self, rest: str = "") -> None:
        self._table.person = 1 - self._table.person
        self._say(f"You play {self._side()} now.")
        self._go_on()

    def _level(self, rest: str) -> None:
        if not rest.isdecimal() or not 1 <= int(rest) <= len(LEVELS):
            raise UserError(f"level {rest}: write a number from 1 (weakest) to {len(LEVELS)}.")
        self._adviser.set_level(int(rest))
        level = LEVELS[int(rest) - 1]
        self._say(f"Level {rest}, {level.name}: {self._adviser.nodes} nodes a move.")

    def _nodes(self, rest: str) -> None:
        if not rest.isdecimal() or not 1 <= int(rest) <= LARGEST_NODES:
            raise UserError(f"nodes {rest}: write a number from 1 to {LARGEST_NODES}.")
        self._adviser.nodes, self._adviser.temperature = int(rest), 0.0
        self._say(f"{self._adviser.nodes} nodes a move.")

    def _new(self, rest: str) -> None:
        old = self._table
        person = choose_side(rest, self._rng) if rest else old.person
        self._table = Table(old.game, old.start, person, old.names)
        self._say(f"A new game; you play {self._side()}.")
        self._board()
        self._go_on()

    def _resign(self, rest: str = "") -> None:
        if self._table.result is not None:
            raise UserError("The game is over already.")
        self._table.resigned = self._table.person
        self._say(self._outcome())

    def _save(self, rest: str) -> None:
        if not rest:
            formats = ", ".join(self._table.writers)
            raise UserError(f"save FILE: give the file a name; formats: {formats}.")
        self._say(f"Saved as {self._table.save(rest)}.")

    def _help(self, rest: str = "") -> None:
        self._say(HELP)


def choose_side(text: str, rng: random.Random) -> int:
    """0 for first, 1 for second."""
    if text == "random":
        return rng.randrange(2)
    if text not in SIDES:
        raise UserError(f"'{text}' is no side; write first, second or random")
    return SIDES.index(text)
