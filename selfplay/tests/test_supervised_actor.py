"""The one restart policy of Ray actors."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import tiny

from zerogames import UserError, get_game
from zerogames.runs.folder import RunPaths

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.xdist_group("ray"),
]


@pytest.fixture(scope="module", autouse=True)
def local_ray() -> Iterator[None]:
    ray.shutdown()
    ray.init(
        "local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    yield
    ray.shutdown()


@pytest.fixture
def actor() -> Iterator[Any]:
    from zerogames_selfplay.ray.supervised_actor import SupervisedActor

    # In here, since the actors' processes cannot import a test.
    class Victim:
        def __init__(self, number: int) -> None:
            self.number = number

        def answer(self) -> int:
            return self.number

        def fail(self) -> None:
            raise UserError("no such thing")

        def die(self) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        def die_before(self, number: int) -> int:
            if self.number < number:
                self.die()
            return self.number

    remote = ray.remote(num_cpus=1, max_restarts=0)(Victim)
    actor = SupervisedActor("the victim", lambda restarts: remote.remote(restarts))
    yield actor
    actor.kill()


def test_a_dead_actor_is_replaced_after_a_pause_and_counted(actor: Any) -> None:
    from zerogames_selfplay.ray.supervised_actor import ActorDied

    assert not actor.is_alive
    assert actor.ask("answer") == 0
    with pytest.raises(ActorDied):
        actor.result(actor.call("die"))
    assert actor.restarts == 1
    assert not actor.start()
    begin = time.monotonic()
    assert actor.ask("answer") == 1
    assert time.monotonic() - begin > 0.5


def test_a_question_is_asked_again_until_it_is_answered(actor: Any) -> None:
    assert actor.ask("die_before", 2) == 2
    assert actor.restarts == 2


def test_an_error_inside_is_raised_here_and_no_death(actor: Any) -> None:
    with pytest.raises(UserError, match="no such thing"):
        actor.ask("fail")
    assert actor.restarts == 0
    assert actor.ask("answer") == 0


def test_an_actor_that_always_dies_is_given_up(actor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from zerogames_selfplay.ray import supervised_actor

    monkeypatch.setattr(supervised_actor, "_RESTART_PAUSE_S", 0.0)
    with pytest.raises(UserError, match="the victim died 5 times in a row"):
        actor.ask("die")


def test_a_rater_that_is_killed_is_replaced_and_its_rating_dropped(tmp_path: Path) -> None:
    from zerogames_selfplay.loop.local_learner import LocalLearner
    from zerogames_selfplay.loop.rating import RatingJob, rating_anchors
    from zerogames_selfplay.loop.settings import RatingSettings
    from zerogames_selfplay.ray.rater import RayRater

    game = get_game("connect4")
    settings = tiny(tmp_path, rating=RatingSettings(pairs=1, visits=2, anchors=("random",)))
    (tmp_path / "nets").mkdir()
    learner = LocalLearner(settings, game, RunPaths(tmp_path))
    anchors = rating_anchors(game, settings.rating)[:1]
    job = RatingJob(step=0, net=learner.write_net(), opponents=anchors)
    learner.close()
    rater = RayRater(settings)
    rater.begin(job, print)
    assert rater.is_rating
    ray.kill(rater._actor._handle)
    assert rater.poll(60) is None
    assert not rater.is_rating
    assert rater.restarts == 1
    rater.begin(job, print)
    result = rater.poll(60)
    assert result is not None
    assert result.tallies[0].wdl.games == 2
