"""The page: key figures, curves, ratings, games, settings. Needs nothing but itself."""

import html
import json
from collections.abc import Callable, Sequence

from zerogames.report.charts import LineChart, Point, Series
from zerogames.report.game_section import game_section
from zerogames.report.run_data import Line, RunData, number, sample_games

_STYLE = """
:root{color-scheme:light}
body{font:15px/1.5 system-ui,"Segoe UI",sans-serif;color:#1d2430;background:#f5f6f8;margin:0}
main{max-width:1180px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;margin:0 0 2px} h2{font-size:19px;margin:38px 0 12px}
h3{font-size:15px;margin:0 0 10px}
.subtitle{color:#5b6472;margin:0 0 20px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(240px,1fr));gap:12px}
.tile,.card,.game{background:#fff;border:1px solid #e2e5ea;border-radius:10px}
.tile{padding:12px 16px} .tile b{display:block;font-size:23px;line-height:1.25}
.tile span{color:#5b6472;font-size:13px}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:14px}
.card{padding:14px 14px 8px} .game{padding:16px;margin-bottom:16px}
svg{width:100%;height:auto;display:block;font-family:inherit}
svg .title{font-size:14px;font-weight:600;fill:#1d2430} svg .tick{font-size:12px;fill:#5b6472}
svg .grid{stroke:#e8eaee} svg .axis{stroke:#9aa1ac} svg .level{stroke:#9aa1ac;stroke-dasharray:5 4}
svg .line{fill:none;stroke-width:2;stroke-linejoin:round}
.boards{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px}
figure{margin:0} figure img{width:100%;height:auto;border-radius:4px;display:block}
figcaption{font-size:13px;color:#5b6472;text-align:center;margin-top:3px}
.columns{display:grid;grid-template-columns:minmax(280px,440px) 1fr;gap:20px;margin-top:14px}
@media(max-width:760px){.columns{grid-template-columns:1fr}}
.moves:only-child{grid-column:1/-1}
.moves{font-size:14px;margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto} table{border-collapse:collapse;font-size:14px;width:100%}
th,td{text-align:right;padding:5px 12px;border-bottom:1px solid #eceef1;white-space:nowrap}
th{color:#5b6472;font-weight:600} th:first-child,td:first-child{text-align:left}
pre{font-size:12px;overflow:auto;max-height:420px} summary{cursor:pointer}
.problems{color:#8a3b1c}
"""
_HOUR_S = 3600.0
_RATED_ROWS = 12
"""Nets in the table, the newest."""


def make_page(run: RunData, *, games: int) -> str:
    """The whole HTML document."""
    problems = list(run.problems)
    sections = [
        game_section(run.game, record, path) for path, record in sample_games(run, games, problems)
    ]
    if sections:
        sections.insert(0, "<h2>Games of the run</h2>")
    identity = html.escape(run.game.spec.identity)
    name = html.escape(run.path.resolve().name)
    charts = "".join(f'<div class="card">{chart.svg()}</div>' for chart in _charts(run))
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{name}: {identity}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main>",
        f'<h1>{name}</h1><p class="subtitle">{html.escape(_subtitle(run))}</p>',
        f'<div class="tiles">{_tiles(run)}</div>',
        f'<h2>Curves</h2><div class="charts">{charts}</div>',
        _rating_table(run),
        *sections,
        _details(run),
        _problem_list(problems),
        "</main></body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _subtitle(run: RunData) -> str:
    settings = run.about.get("settings")
    if not isinstance(settings, dict):
        settings = {}
    facts = [run.game.spec.identity]
    known = {
        "net": settings.get("net"),
        "seed": settings.get("seed"),
        "version": run.about.get("version"),
        "commit": str(run.about.get("commit") or "")[:10],
    }
    facts += [f"{name} {value}" for name, value in known.items() if value not in (None, "")]
    sessions = run.about.get("sessions")
    if isinstance(sessions, list) and sessions and isinstance(sessions[0], dict):
        facts.append(f"begun {sessions[0].get('started', '?')}")
        if len(sessions) > 1:
            facts.append(f"{len(sessions)} sessions")
    return " · ".join(facts)


def _tiles(run: RunData) -> str:
    last = run.metrics[-1] if run.metrics else {}
    rated = run.ratings[-1] if run.ratings else {}
    found: list[tuple[str, str]] = []

    def add(
        line: Line, key: str, text: str, show: Callable[[float], str] = "{:,.0f}".format
    ) -> None:
        value = number(line, key)
        if value is not None:
            found.append((show(value), text))

    low, high = number(rated, "low"), number(rated, "high")
    if low is not None and high is not None:
        half = (high - low) / 2
        add(rated, "elo", "Elo of the newest rated net", lambda v: f"{v:.0f} ± {half:.0f}")
    add(last, "policy_accuracy", "policy accuracy", lambda v: f"{100 * v:.1f} %")
    add(last, "loss", "loss", lambda v: f"{v:.3f}")
    add(last, "step", "steps")
    add(last, "games", "games")
    add(last, "positions", "positions")
    add(last, "games_per_h", "games an hour")
    add(last, "time_s", "running", _duration)
    return "".join(
        f'<div class="tile"><b>{html.escape(value)}</b><span>{html.escape(text)}</span></div>'
        for value, text in found
    )


def _duration(seconds: float) -> str:
    if seconds < 100 * 60:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / _HOUR_S:.1f} h"


def _charts(run: RunData) -> list[LineChart]:
    lines = [*run.metrics, *run.ratings]
    longest = max((number(line, "time_s") or 0.0 for line in lines), default=0.0)
    unit_s, x_label = (_HOUR_S, "hours") if longest > 3 * _HOUR_S else (60.0, "minutes")

    def points(key: str, source: Sequence[Line] = run.metrics) -> list[Point]:
        pairs = [(number(line, "time_s"), number(line, key)) for line in source]
        return [(x / unit_s, y) for x, y in pairs if x is not None and y is not None]

    def chart(title: str, *keys: tuple[str, str], percent: bool = False) -> LineChart:
        return LineChart(
            title=title,
            series=[Series(name=name, points=points(key)) for key, name in keys],
            x_label=x_label,
            from_zero=True,
            y_format=(lambda v: f"{100 * v:.0f} %") if percent else _short,
        )

    rated = [line for line in run.ratings if _is_rated(line)]
    elo = Series(
        name="Elo",
        points=points("elo", rated),
        band=[(line["time_s"] / unit_s, line["low"], line["high"]) for line in rated],
        notes=[f"step {line.get('step', '?')}: {line['elo']:.0f} Elo" for line in rated],
    )
    charts = [
        LineChart(
            title="Elo with 95 % interval",
            series=[elo],
            levels=_levels(rated[-1]) if rated else {},
            x_label=x_label,
            y_format=lambda value: f"{value:.0f}",
        ),
        chart(
            "Loss",
            ("loss", "total"),
            ("policy_loss", "policy"),
            ("value_loss", "value"),
            ("moves_left_loss", "moves left"),
        ),
        chart("Policy accuracy", ("policy_accuracy", "accuracy"), percent=True),
        chart("Games per hour", ("games_per_h", "games")),
        chart("Value error (MSE)", ("value_mse", "value")),
        chart(
            "Positions per second",
            ("selfplay_positions_per_s", "self-play"),
            ("train_samples_per_s", "training"),
        ),
        chart("Positions", ("positions", "played"), ("window", "in the window")),
        chart("Learning rate", ("learning_rate", "learning rate")),
    ]
    always = 4
    return charts[:always] + [
        one for one in charts[always:] if any(series.points for series in one.series)
    ]


def _is_rated(line: Line) -> bool:
    return all(number(line, key) is not None for key in ("time_s", "elo", "low", "high"))


def _levels(line: Line) -> dict[str, float]:
    anchors = line.get("anchors")
    if not isinstance(anchors, dict):
        return {}
    return {name: value for name in anchors if (value := number(anchors, name)) is not None}


def _short(value: float) -> str:
    """1500 as 1.5k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:.4g}"


def _rating_table(run: RunData) -> str:
    rated = [line for line in run.ratings if _is_rated(line)][-_RATED_ROWS:]
    if not rated:
        return ""
    columns = dict.fromkeys(_column(result) for line in rated for result in _results(line))
    opponents = sorted(columns, key=lambda name: name == _EARLIER)
    head = _row("th", ["step", "minutes", "Elo", "95 % interval", *opponents])
    rows = "".join(_row("td", _rating_cells(line, opponents)) for line in reversed(rated))
    return (
        f'<h2>Ratings</h2><div class="card scroll"><table>{head}{rows}</table>'
        '<p class="subtitle">Wins-draws-losses of the net against each opponent.</p></div>'
    )


_EARLIER = "earlier nets"


def _column(result: Line) -> str:
    """The column of a result; earlier nets differ from row to row: they share one."""
    opponent = str(result.get("opponent", "?"))
    return _EARLIER if opponent.startswith("step-") else opponent


def _results(line: Line) -> list[Line]:
    results = line.get("results")
    return [one for one in results if isinstance(one, dict)] if isinstance(results, list) else []


def _row(tag: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"


def _rating_cells(line: Line, opponents: Sequence[str]) -> list[str]:
    cells = []
    for opponent in opponents:
        mine = [one for one in _results(line) if _column(one) == opponent]
        counts = [sum(number(one, key) or 0 for one in mine) for key in ("wins", "draws", "losses")]
        cells.append("-".join(f"{count:.0f}" for count in counts) if mine else "")
    step = number(line, "step")
    return [
        "?" if step is None else f"{step:,.0f}",
        f"{line['time_s'] / 60:.1f}",
        f"{line['elo']:.0f}",
        f"{line['low']:.0f} to {line['high']:.0f}",
        *cells,
    ]


def _details(run: RunData) -> str:
    if not run.about:
        return ""
    text = html.escape(json.dumps(run.about, indent=2))
    return (
        '<h2>Settings</h2><details class="card"><summary>run.json</summary>'
        f"<pre>{text}</pre></details>"
    )


def _problem_list(problems: Sequence[str]) -> str:
    if not problems:
        return ""
    items = "".join(f"<li>{html.escape(problem)}</li>" for problem in problems)
    return f'<h2>Not readable</h2><ul class="problems">{items}</ul>'
