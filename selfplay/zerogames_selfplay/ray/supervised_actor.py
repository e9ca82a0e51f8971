"""A Ray actor that is replaced when it dies: the restart policy of workers, learner and rater.

- A dead actor is replaced by a new one after a pause.
- Every restart is counted. The successor gets the number of restarts, from which its maker derives
  new seeds, so that nothing random is repeated.
- An actor that dies several times in a row without any progress ends the run with an error.
- An actor that cannot be reached is asked again after the same pause: Ray says when it is dead.
- An error raised inside an actor is no death: it is raised in the driver as if it had happened
  there.
"""

import time
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, ObjectLostError, RayActorError, RayTaskError

from zerogames.errors import UserError
from zerogames_selfplay.ray.connection import logs_folder

_RESTART_PAUSE_S = 1.0
_MAX_DEATHS = 5
"""After this many deaths in a row without progress an actor is not replaced again."""


class ActorDied(Exception):
    """The actor died during a call; the next call restarts it."""


class CallLost(Exception):
    """The answer did not arrive; the actor may have done what it was asked."""


class SupervisedActor:
    """One actor and its successors.

    The constructors of actor classes must not fail: Ray tells an error there from no other death.
    """

    def __init__(self, name: str, make: Callable[[int], Any]) -> None:
        """Make no actor yet: `start` and `call` do.

        Args:
            name: For error messages, such as `worker 3`.
            make: Makes an actor; gets the number of restarts.
        """
        self.restarts = 0
        self._name = name
        self._make = make
        # Ray's own types do not know which methods a remote class has.
        self._handle: Any = None
        self._deaths = 0
        self._restart_at = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether there is an actor that is not known to be dead."""
        return self._handle is not None

    def start(self) -> bool:
        """Start or restart the actor unless a pause has to pass first; whether it can be called."""
        if self._deaths >= _MAX_DEATHS:
            raise UserError(
                f"{self._name} died {self._deaths} times in a row; see Ray's logs in "
                f"{logs_folder()}, or use --workers 0"
            )
        if time.monotonic() < self._restart_at:
            return False
        if self._handle is None:
            self._handle = self._make(self.restarts)
        return True

    def call(self, method: str, *arguments: Any) -> Any:
        """Begin a call and return its reference; a dead actor is restarted first."""
        while not self.start():
            time.sleep(max(0.0, self._restart_at - time.monotonic()))
        return getattr(self._handle, method).remote(*arguments)

    def result(self, reference: Any) -> Any:
        """Wait for a call's result; raises `ActorDied`, `CallLost` or the error of the call."""
        try:
            return ray.get(reference)
        except RayTaskError as error:
            cause = error.cause
            raise (cause if isinstance(cause, UserError | OSError) else error) from None
        except (ActorUnavailableError, ObjectLostError):
            self._restart_at = time.monotonic() + _RESTART_PAUSE_S
            raise CallLost(self._name) from None
        except RayActorError:
            self._handle = None
            self._deaths += 1
            self.restarts += 1
            self._restart_at = time.monotonic() + _RESTART_PAUSE_S
            raise ActorDied(self._name) from None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for its result, from a successor if the actor dies."""
        while True:
            try:
                result = self.result(self.call(method, *arguments))
            except (ActorDied, CallLost):
                continue
            self.note_progress()
            return result

    def note_progress(self) -> None:
        """Count deaths in a row from here on."""
        self._deaths = 0

    def kill(self) -> None:
        """End the actor for good."""
        if self._handle is not None:
            ray.kill(self._handle)
            self._handle = None
