"""Running an event from the command line: progress, report, files."""

import collections
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from rich.console import Console

from zerogames.arena.elo import estimate_tally
from zerogames.arena.event import Event, parse_anchors
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.plot import plot_ratings
from zerogames.arena.report import make_report, plus_minus
from zerogames.arena.runner import event_tally, run_event
from zerogames.atomic import write_atomically, write_text_atomically
from zerogames.errors import unknown_name
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.display import Display, Frame
from zerogames.runs.signals import interrupt_on_sigterm

INTERRUPTED = 130


def run_and_report(
    event: Event,
    console: Console,
    *,
    title: str,
    anchors: Sequence[str] = (),
    elo_from: str = "",
) -> int:
    """Play or continue an event and show what came out; returns the exit code.

    `anchors` are texts PLAYER=ELO; `elo_from` is a player by whose games alone all are rated.
    """
    if elo_from and elo_from not in event.names:
        raise unknown_name("player for --elo-from", elo_from, event.names)
    known = parse_anchors(anchors, event.names)
    path = event.folder()
    identity = event.identity()
    control = str(event.rules.control)
    with name_disk_errors(path), MatchFolder(path, identity, event.game, control) as folder:
        if folder.games:
            console.print(f"{len(folder.games)} games are already in {path}: continuing from there")
        with interrupt_on_sigterm(), _progress(event, folder, console) as on_game:
            status = run_event(event, folder, on_game)
        played = {name for stored in folder.games for name in (stored.first, stored.second)}
        report = make_report(
            (stored.outcome for stored in folder.games),
            title=title,
            anchors={name: elo for name, elo in known.items() if name in played},
            elo_from=elo_from if elo_from in played else None,
            order=event.names,
        )
        machine = f"{platform.machine()}, {os.cpu_count()} CPUs"
        report = replace(
            report,
            conditions=event.conditions.describe() | {"machine": machine},
            faults=_faults(folder.games),
            sprt=event.sprt,
        )
        write_text_atomically(path / "report.md", report.markdown())
        write_text_atomically(path / "report.json", report.json())
        draw = partial(plot_ratings, report.ratings, title=title, scale=report.scale)
        write_atomically(path / "report.png", draw)
    report.print(console)
    console.print(f"games and report: {path}", highlight=False)
    if status == "interrupted":
        missing = len(event.appointments()) - len(folder.games)
        console.print(f"interrupted with {missing} games to go: the same command continues")
        return INTERRUPTED
    if status == "decided":
        console.print("stopped: the SPRT is decided")
    return 0


@contextmanager
def _progress(
    event: Event, folder: MatchFolder, console: Console
) -> Iterator[Callable[[StoredGame], None]]:
    total = len(event.appointments())
    with Display(console) as display:

        def show() -> None:
            done, standing = f"{len(folder.games)}/{total} games", _standing(event, folder)
            line = f"{done}, {standing}" if standing else done
            display.show(Frame(done=len(folder.games) / max(1, total), title=line, line=line))

        def on_game(stored: StoredGame) -> None:
            if stored.fault:
                detail = f" ({stored.fault_detail})" if stored.fault_detail else ""
                display.line(
                    f"{stored.key}: {stored.loser} loses by {stored.fault}{detail}", style="yellow"
                )
            show()

        show()
        yield on_game


def _standing(event: Event, folder: MatchFolder) -> str:
    if len(event.players) == 2:
        one = event_tally(event, folder)
        estimate = estimate_tally(one)
        text = f"{one.wdl} Elo {plus_minus(estimate.elo, estimate.elo_error, 0)}"
        if event.sprt:
            text += f" LLR {event.sprt.llr(one.distribution):+.2f}"
        return text
    points: collections.Counter[str] = collections.Counter()
    for stored in folder.games:
        points[stored.first] += round(1 + stored.result)
        points[stored.second] += round(1 - stored.result)
    leaders = [f"{name} {half / 2:g}" for name, half in points.most_common(2)]
    return ", ".join(leaders)


def _faults(games: Sequence[StoredGame]) -> dict[str, dict[str, int]]:
    found: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for stored in games:
        if stored.fault and stored.loser:
            found[stored.loser][stored.fault] += 1
    return {name: dict(counts) for name, counts in found.items()}
