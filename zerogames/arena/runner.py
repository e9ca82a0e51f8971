"""Plays the games of an event, several at a time, and survives its players."""

import collections
import datetime
import queue
import threading
import zlib
from collections.abc import Callable
from typing import Literal

from zerogames.arena.event import Event
from zerogames.arena.game_loop import Interrupted, MatchGame, play_game
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.players import Choice, MoveLimits, Player, Position
from zerogames.arena.results import Tally, tally
from zerogames.arena.schedule import Appointment

Status = Literal["finished", "decided", "interrupted"]
"""All games played, stopped by the SPRT, stopped by the user."""
_PLAYERS_KEPT = 6
"""Players that each worker keeps, as starting an engine for every game would be slow."""

Progress = Callable[[StoredGame], None]


def run_event(event: Event, folder: MatchFolder, on_game: Progress | None = None) -> Status:
    """Play what is missing; Ctrl-C ends running games uncounted and closes all players."""
    return _Runner(event, folder, on_game or (lambda stored: None)).run()


def event_tally(event: Event, folder: MatchFolder) -> Tally:
    """The games of the first two players, seen by the first."""
    a, b = event.names[:2]
    for one in tally(stored.outcome for stored in folder.games):
        if {one.a, one.b} == {a, b}:
            return one if one.a == a else one.swapped
    return Tally(a, b)


class _Runner:
    def __init__(self, event: Event, folder: MatchFolder, on_game: Progress) -> None:
        self.event, self.folder, self.on_game = event, folder, on_game
        done = {stored.key for stored in folder.games}
        self.waiting = collections.deque(one for one in event.appointments() if one.key not in done)
        self.stop = threading.Event()
        self.lock = threading.Condition()
        self.num_unkept = 0
        """Games that are finished but not on disk yet."""
        self.finished: queue.Queue[StoredGame | BaseException | None] = queue.Queue()
        self.workers: list[_Worker] = []

    def run(self) -> Status:
        if self._is_decided():
            return "decided"
        count = min(self.event.conditions.concurrency, len(self.waiting))
        self.workers = [_Worker(self) for _ in range(count)]
        status: Status = "finished"
        try:
            for worker in self.workers:
                worker.start()
            running = count
            while running:
                item = self._next()
                if item is None:
                    running -= 1
                elif isinstance(item, BaseException):
                    raise item
                else:
                    self.folder.add(item)
                    self.on_game(item)
                    with self.lock:
                        if status == "finished" and self._is_decided():
                            status = "decided"
                            self.waiting.clear()
                        self.num_unkept -= 1
                        self.lock.notify_all()
        except KeyboardInterrupt:
            status = "interrupted"
        finally:
            self._close()
        return status

    def take(self) -> Appointment | None:
        """The next game for a worker; quick games wait until those before them were counted."""
        with self.lock:
            self.lock.wait_for(lambda: self.num_unkept < len(self.workers) or self.stop.is_set())
            return self.waiting.popleft() if self.waiting and not self.stop.is_set() else None

    def hand_in(self, stored: StoredGame) -> None:
        """A worker's finished game."""
        with self.lock:
            self.num_unkept += 1
        self.finished.put(stored)

    def _next(self) -> StoredGame | BaseException | None:
        # A wait without limit would keep Ctrl-C from the main thread on some platforms.
        while True:
            try:
                return self.finished.get(timeout=0.5)
            except queue.Empty:
                continue

    def _is_decided(self) -> bool:
        if self.event.sprt is None:
            return False
        results = event_tally(self.event, self.folder).distribution
        return self.event.sprt.verdict(results) is not None

    def _close(self) -> None:
        self.stop.set()
        with self.lock:
            self.lock.notify_all()
        for worker in self.workers:
            worker.close_players()
        for worker in self.workers:
            worker.join()


class _Worker(threading.Thread):
    def __init__(self, runner: _Runner) -> None:
        super().__init__(daemon=True)
        self.runner = runner
        self.players: collections.OrderedDict[str, Player] = collections.OrderedDict()
        self.lock = threading.Lock()

    def run(self) -> None:
        try:
            while (appointment := self.runner.take()) is not None:
                self.runner.hand_in(self._play(appointment))
        except Interrupted:
            pass
        except BaseException as error:
            if not self.runner.stop.is_set():
                self.runner.finished.put(error)
        finally:
            self.close_players()
            self.runner.finished.put(None)

    def close_players(self) -> None:
        with self.lock:
            players = list(self.players.values())
            self.players.clear()
        for player in players:
            player.close()

    def _play(self, appointment: Appointment) -> StoredGame:
        event = self.runner.event
        seed = zlib.crc32(f"{event.conditions.seed} {appointment.key}".encode())
        played = play_game(
            event.game,
            [_StartedOnDemand(self, name) for name in (appointment.first, appointment.second)],
            event.openings[appointment.round],
            event.rules,
            seed=seed,
            stop=self.runner.stop,
        )
        stored = _stored(appointment, played)
        if stored.fault and stored.loser:
            self.drop(stored.loser)
        return stored

    def player(self, name: str) -> Player:
        """A player that this worker keeps; started on first use."""
        if self.runner.stop.is_set():
            raise Interrupted
        with self.lock:
            if name in self.players:
                self.players.move_to_end(name)
                return self.players[name]
        player = self.runner.event.player(name).make(self.runner.event.game)
        with self.lock:
            self.players[name] = player
            oldest = next(iter(self.players)) if len(self.players) > _PLAYERS_KEPT else None
        if self.runner.stop.is_set():
            raise Interrupted  # `run` closes all players
        if oldest is not None:
            self.drop(oldest)
        return player

    def drop(self, name: str) -> None:
        """Close a player; the next game starts it anew."""
        with self.lock:
            player = self.players.pop(name, None)
        if player is not None:
            player.close()


class _StartedOnDemand:
    """A player that its worker starts when it is wanted: a failure to start costs the game."""

    def __init__(self, worker: _Worker, name: str) -> None:
        self._worker, self._name = worker, name

    def new_game(self, position: Position, seed: int) -> None:
        self._worker.player(self._name).new_game(position, seed)

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        return self._worker.player(self._name).choose(position, limits)

    def close(self) -> None:
        self._worker.drop(self._name)


def _stored(appointment: Appointment, played: MatchGame) -> StoredGame:
    ending, fault = played.ending, played.fault
    return StoredGame(
        key=appointment.key,
        pair=appointment.pair,
        first=appointment.first,
        second=appointment.second,
        opening=played.opening.name,
        start=played.opening.start,
        actions=played.actions,
        moves=played.moves,
        comments=played.comments,
        result=ending.result,
        reason=ending.reason,
        fault=fault.kind if fault else None,
        fault_detail=fault.detail if fault else None,
        seconds=round(played.seconds, 3),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
