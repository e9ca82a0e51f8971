"""Commands of the game itself: moves, clocks, the board, the score."""

from collections.abc import Mapping, Sequence

from zerogames.errors import UserError
from zerogames_go.gtp.clock import (
    KATA_KINDS,
    parse_kata_time_settings,
    parse_time_left,
    parse_time_settings,
)
from zerogames_go.gtp.player import Decision, MoveRequest
from zerogames_go.gtp.protocol import (
    COLOUR_LETTERS,
    format_vertices,
    parse_colour,
    parse_vertex,
    take_arguments,
)
from zerogames_go.gtp.table import Handler, Table
from zerogames_go.status import (
    COUNTED_AS_THEY_STAND,
    StoneStatus,
    estimate_status,
    format_score,
    status_as_it_stands,
)


class PlayCommands:
    """The protocol's groups play, tournament and debugging, with the extensions of KGS."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by command."""
        return {
            "play": self._play,
            "genmove": lambda words: self._genmove(words),
            "reg_genmove": self._reg_genmove,
            "kgs-genmove_cleanup": lambda words: self._genmove(words, cleanup=True),
            "undo": self._undo,
            "time_settings": self._time_settings,
            "kgs-time_settings": self._kata_time_settings,
            "kata-time_settings": self._kata_time_settings,
            "kata-list_time_settings": lambda _: " ".join(KATA_KINDS),
            "time_left": self._time_left,
            "final_score": lambda _: self._final_score(),
            "final_status_list": self._final_status_list,
            "showboard": lambda _: self._showboard(),
            "is_legal": self._is_legal,
            "all_legal": self._all_legal,
            "kgs-game_over": lambda _: "",
            "kgs-chat": lambda _: "I only play.",
            "clear_cache": self._clear_cache,
            "stop": lambda _: "",
        }

    def _play(self, arguments: Sequence[str]) -> str:
        who, where = take_arguments(arguments, 2, 2)
        colour = parse_colour(who)
        if where.lower() == "resign":
            self._note_resignation(colour)
        else:
            self._table.played.play(colour, parse_vertex(self._table.game, where))
        return ""

    def _genmove(self, arguments: Sequence[str], *, cleanup: bool = False) -> str:
        colour = parse_colour(take_arguments(arguments, 1, 1)[0])
        budget = self._table.budget(colour)
        return self.make_move(MoveRequest(colour=colour, budget=budget, cleanup=cleanup))

    def make_move(self, request: MoveRequest) -> str:
        """Choose a move, play it and answer with it."""
        table = self._table
        decision = table.player.choose(table.played, request)
        table.spend(request.colour, decision.elapsed_s)
        if request.watcher is not None and decision.thought is not None:
            request.watcher.tell(decision.thought)  # what the move was chosen by
        if decision.action is None:
            self._note_resignation(request.colour)
        else:
            table.played.play(request.colour, decision.action)
        return self._text(decision)

    def _reg_genmove(self, arguments: Sequence[str]) -> str:
        colour = parse_colour(take_arguments(arguments, 1, 1)[0])
        table = self._table
        request = MoveRequest(colour=colour, budget=table.budget(colour), may_resign=False)
        return self._text(table.player.choose(table.played, request))

    def _text(self, decision: Decision) -> str:
        if decision.action is None:
            return "resign"
        return self._table.game.format_action(self._table.played.state, decision.action)

    def _note_resignation(self, colour: int) -> None:
        self._table.result = f"{COLOUR_LETTERS[1 - colour]}+R"

    def _undo(self, _: Sequence[str]) -> str:
        self._table.played.undo()
        self._table.player.resignation.forget()
        self._table.result = ""
        return ""

    def _time_settings(self, arguments: Sequence[str]) -> str:
        self._table.set_time(parse_time_settings(arguments))
        return ""

    def _kata_time_settings(self, arguments: Sequence[str]) -> str:
        self._table.set_time(parse_kata_time_settings(arguments))
        return ""

    def _time_left(self, arguments: Sequence[str]) -> str:
        who, *rest = take_arguments(arguments, 3, 3)
        self._table.left[parse_colour(who)] = parse_time_left(self._table.time, rest)
        return ""

    def _stone_status(self) -> StoneStatus:
        """The status of stones: by Tromp-Taylor a finished game counts as it stands."""
        played = self._table.played
        if played.state.result is not None and played.options.rules in COUNTED_AS_THEY_STAND:
            return status_as_it_stands(played.state)
        return estimate_status(played.state)

    def _final_score(self) -> str:
        return self._table.result or format_score(self._stone_status().score)

    def _final_status_list(self, arguments: Sequence[str]) -> str:
        status = take_arguments(arguments, 1, 1)[0].lower()
        if status not in ("alive", "seki", "dead"):
            raise UserError("syntax error: the status is alive, seki or dead")
        stones = self._stone_status()
        chains = {"alive": stones.alive, "dead": stones.dead, "seki": []}[status]
        state = self._table.played.state
        return "\n".join(format_vertices(self._table.game, state, chain) for chain in chains)

    def _showboard(self) -> str:
        played = self._table.played
        last = played.plies[-1].action if played.plies else None
        drawing = played.game.render(played.state, last_action=last).ansi(colour=False)
        return f"\n{drawing}\nkomi {played.options.komi:g}, {len(played.plies)} moves"

    def _is_legal(self, arguments: Sequence[str]) -> str:
        who, where = take_arguments(arguments, 2, 2)
        state = self._table.played.state_for(parse_colour(who))
        return str(int(state.is_legal(parse_vertex(self._table.game, where))))

    def _all_legal(self, arguments: Sequence[str]) -> str:
        colour = parse_colour(take_arguments(arguments, 1, 1)[0])
        state = self._table.played.state_for(colour)
        points = [action for action in state.legal_actions().tolist()]
        return format_vertices(self._table.game, state, points[:-1])

    def _clear_cache(self, _: Sequence[str]) -> str:
        self._table.player.clear_cache()
        return ""
