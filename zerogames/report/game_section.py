"""A game on the page: boards along its way, its moves, and how the players saw it."""

import base64
import html
import math
from pathlib import Path

from zerogames.data.record import GameRecord
from zerogames.game import Game, State
from zerogames.report.charts import LineChart, Series

BOARDS = 6


def game_section(game: Game, record: GameRecord, source: Path) -> str:
    """HTML of one game."""
    states, moves = _replay(game, record)
    plies = len(moves)
    shown = sorted({round((i + 1) * plies / BOARDS) for i in range(BOARDS)} - {0})
    boards = "".join(
        f'<figure><img alt="after {ply} plies" src="{_picture(game, record, states, ply)}">'
        f"<figcaption>{ply}. {html.escape(moves[ply - 1])}</figcaption></figure>"
        for ply in shown
    )
    return (
        '<section class="game">'
        f"<h3>{html.escape(_headline(record, source))}</h3>"
        f'<div class="boards">{boards}</div>'
        f'<div class="columns">{_value_chart(record, states)}'
        f'<p class="moves">{_move_text(moves, states)}</p></div></section>'
    )


def _replay(game: Game, record: GameRecord) -> tuple[list[State], list[str]]:
    states, moves = [record.start_state(game)], []
    for action in record.actions.tolist():
        moves.append(game.format_action(states[-1], action))
        states.append(states[-1].play(action))
    return states, moves


def _picture(game: Game, record: GameRecord, states: list[State], ply: int) -> str:
    """Embed the picture as data, so that its names and styles stay inside it."""
    picture = game.render(states[ply], last_action=int(record.actions[ply - 1]))
    encoded = base64.b64encode(picture.svg().encode()).decode()
    return f"data:image/svg+xml;base64,{encoded}"


def _headline(record: GameRecord, source: Path) -> str:
    results = {1.0: "the first player won", 0.0: "a draw", -1.0: "the second player won"}
    result = "no result" if record.result is None else results.get(record.result, "decided")
    reason = f" ({record.reason})" if record.reason else ""
    return f"{source.stem}: {result}{reason} after {len(record.actions)} plies"


def _move_text(moves: list[str], states: list[State]) -> str:
    """Numbered by pairs, a new number whenever the first player moves."""
    parts, count = [], 0
    for state, move in zip(states, moves, strict=False):
        if state.to_play == 0 or count == 0:
            count += 1
            parts.append(f"<b>{count}.</b>&nbsp;{html.escape(move)}")
        else:
            parts.append(html.escape(move))
    return " ".join(parts)


def _value_chart(record: GameRecord, states: list[State]) -> str:
    """Draw the values of the players; nothing for a game without them."""
    if record.search is None:
        return ""

    def series(name: str, column: str) -> Series:
        assert record.search is not None
        values = zip(states, record.search.values[column].tolist(), strict=False)
        points = [
            (ply, value if state.to_play == 0 else -value)
            for ply, (state, value) in enumerate(values, start=1)
            if math.isfinite(value)
        ]
        return Series(name=name, points=points)

    searched = series("search", "root_q")
    if not searched.points:
        return ""
    chart = LineChart(
        title="First player's chances",
        series=[searched, series("net alone", "raw_q")],
        x_label="ply",
        y_range=(-1.0, 1.0),
        y_format=lambda value: f"{value:+.1f}" if value else "0",
        height=220,
    )
    return f'<div class="chart">{chart.svg()}</div>'
