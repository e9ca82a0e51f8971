"""The loop: play, train a round, play with the new net, rate it.

On one machine this happens in turns, which wastes nothing: the players pause between two batches
while the trainer has all cores, and then continue their games. On a cluster all work at once.
"""

import time

from zerogames.data.shard import shard_paths
from zerogames.runs.worker_health import health_line
from zerogames_selfplay.loop.learner import BackgroundLearner, Learner, RoundProgress, TrainRound
from zerogames_selfplay.loop.rater import Rater
from zerogames_selfplay.loop.run_state import RunState
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.players import Players

_POLL_S = 0.05
_SHOW_STEPS = 20
"""Training steps between two updates of the display."""
_CONCURRENT_POLL_S = 0.2
_RATER_POLL_S = 0.5
_ASK_S = 1.0
"""Seconds between two rounds of a learner beside the players; without new shards a round is
empty."""
_MAX_ROUNDS_BEHIND = 2
"""Generations of backlog after which self-play pauses."""


class Driver:
    """Lets players, learner and rater work in turns."""

    def __init__(self, run: RunState, learner: Learner, rater: Rater, players: Players) -> None:
        self.run = run
        self.learner = learner
        self.rater = rater
        self.players = players

    def train(self) -> None:
        """Play and train until a limit is reached or the run is stopped."""
        run, players = self.run, self.players
        if any(shard_paths(run.paths.shards)):
            # Sessions that were killed before their round may have left games.
            players.pause()
            self._learn(Counts(), 0.0)
        while not run.finished:
            players.resume()
            before, begin = players.counts(), time.monotonic()
            self._play()
            players.pause()
            seconds = time.monotonic() - begin
            run.status.selfplay_s += seconds
            run.status.selfplay = players.counts()
            self._count_restarts()
            if run.stop.is_set():
                break
            self._learn(run.status.selfplay.since(before), seconds)

    def _learn(self, played: Counts, seconds: float) -> None:
        """Train rounds until all shards are read; each gives a net and a checkpoint."""
        run = self.run
        while not run.finished:
            if self._train_round():
                self._adopt_net()
                run.note_generation(played, seconds)
                self._begin_rating_if_due()
                self.report_ratings()
                played, seconds = Counts(), 0.0
            if not run.report.unread_shards:
                break

    def _play(self) -> None:
        """Play until there is enough for a round of training."""
        run, players = self.run, self.players
        wanted = max(run.settings.generation_positions, run.report.missing_positions)
        first = players.counts().learnable
        begin, before_s = time.monotonic(), run.status.selfplay_s
        while not run.finished:
            counts = players.counts()
            played = counts.learnable - first
            if played >= wanted:
                break
            run.status.selfplay = counts
            run.status.selfplay_s = before_s + time.monotonic() - begin
            why = "the first training step" if run.report.missing_positions else "the next round"
            run.show("playing", f"{played:,} of {wanted:,} positions for {why}")
            players.poll(_POLL_S)
            self._take_rating()
        run.status.selfplay_s = before_s

    def _train_round(self) -> bool:
        """Train a round; whether it made a net."""
        run = self.run

        def keep_on(progress: RoundProgress) -> bool:
            if progress.metrics and progress.step % _SHOW_STEPS == 1:
                run.status.metrics = progress.metrics
                due = f"step {progress.step:,}, {progress.due_steps:,} more are due"
                run.show("learning", due)
            return not run.stop.is_set()

        run.show("learning", "reading new games")
        run.note_report(self.learner.train_round(self._next_round(), keep_on))
        return run.report.net is not None

    def _next_round(self, *, min_steps: int = 1) -> TrainRound:
        run = self.run
        return TrainRound(
            elapsed_s=run.status.elapsed_s,
            progress=run.progress,
            max_steps=run.steps_left,
            min_steps=min_steps,
        )

    def _adopt_net(self) -> None:
        """Let the net of the last round play, unless it fails the gate match."""
        run, net, step = self.run, self.run.report.net, self.run.report.step
        assert net is not None
        if run.settings.gate.pairs:
            run.show("gate", f"the net of step {step:,} plays against that of {run.playing_step:,}")
            passed, wdl = self.rater.passes_gate(net, run.paths.net, run.settings.gate)
            run.note_gate(step, passed, wdl)
            if not passed:
                return
        self.players.use_net(run.adopt(net, step))

    def _begin_rating_if_due(self) -> None:
        if not self.rater.is_rating and self.run.rating_is_due() and not self.run.finished:
            self._begin_rating()

    def _begin_rating(self) -> None:
        run, job = self.run, self.run.rating_job()
        self.rater.begin(
            job, lambda name: run.show("rating", f"step {job.step:,} plays against {name}")
        )
        self._take_rating()

    def _take_rating(self, timeout_s: float = 0.0) -> None:
        if self.rater.is_rating and (result := self.rater.poll(timeout_s)) is not None:
            self.run.note_rating(result)

    def report_ratings(self) -> None:
        """Tell the learner about new ratings: it keeps the checkpoint of the best net."""
        while self.run.new_ratings:
            self.learner.note_rating(*self.run.new_ratings.pop())

    def finish_ratings(self) -> None:
        """Wait for the rating that has begun, then rate the last net."""
        self._wait_for_rating()
        if self.run.has_unrated_net and not self.run.stop.is_set():
            self._begin_rating()
            self._wait_for_rating()

    def _wait_for_rating(self) -> None:
        while self.rater.is_rating and not self.run.stop.is_set():
            self.run.show("rating", "the last games")
            self._take_rating(_RATER_POLL_S)

    def _count_restarts(self) -> None:
        if workers := self.players.health():
            self.run.status.workers = health_line(workers)
        parts = (self.players, self.learner, self.rater)
        self.run.status.restarts = sum(part.restarts for part in parts)


class ConcurrentDriver(Driver):
    """Lets players, learner and rater work at once; players wait for a learner that is behind."""

    learner: BackgroundLearner

    def train(self) -> None:
        """Play and train until a limit is reached or the run is stopped."""
        run, learner, players, settings = self.run, self.learner, self.players, self.run.settings
        positions = settings.generation_positions
        steps = max(1, int(positions * settings.reuse / settings.trainer.batch_size))
        known, noted, noted_at = run.report.positions, players.counts(), time.monotonic()
        ask_at, paused = 0.0, False
        while not run.finished:
            if not learner.is_training and time.monotonic() >= ask_at:
                learner.begin_round(self._next_round(min_steps=steps))
                ask_at = time.monotonic() + _ASK_S
            players.poll(_CONCURRENT_POLL_S)
            self._take_rating()
            counts = run.status.selfplay = players.counts()
            run.status.selfplay_s = time.monotonic() - run.status.start_s
            self._count_restarts()
            if learner.is_training and (report := learner.poll(0.0)) is not None:
                run.note_report(report)
                if report.unread_shards:
                    ask_at = 0.0
                if report.net is not None:
                    self._adopt_net()
                    now = time.monotonic()
                    run.note_generation(counts.since(noted), now - noted_at)
                    noted, noted_at = counts, now
                    self._begin_rating_if_due()
                    self.report_ratings()
            behind = known + counts.learnable - run.report.positions
            if paused != (behind > _MAX_ROUNDS_BEHIND * positions):
                paused = not paused
                (players.pause if paused else players.resume)()
            run.show(*self._phase(behind, paused=paused))
        self._stop_learner()

    def _phase(self, behind: int, *, paused: bool) -> tuple[str, str]:
        """The present work and its reason."""
        missing, wanted = self.run.report.missing_positions, self.run.settings.generation_positions
        if paused:
            return "learning", f"self-play waits: {behind:,} positions are not learnt yet"
        if missing:
            return "playing", f"{missing:,} positions before the first step"
        return "playing and learning", f"{behind:,} of {wanted:,} positions for the next round"

    def _stop_learner(self) -> None:
        if self.learner.is_training:
            self.learner.stop_round()
            while (report := self.learner.poll(1.0)) is None:
                self.run.show("stopping", "waiting for the learner's last step")
            self.run.note_report(report)
