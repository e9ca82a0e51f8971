"""Questions of the page and how they are answered: checked, in a thread, given up with the page."""

import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from threading import Event
from typing import Any, TypeVar

import anyio
import pydantic
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from zerogames.engine.fallback import one_line
from zerogames.errors import UserError, first_problem
from zerogames.web.guard import TooLarge

MOST_THREADS = 12
"""Requests that are worked on at once; as many streams of events are served beside them."""
MOST_EVENTS = 64
"""Events that wait for a slow page."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Asked:
    """One kind of question."""

    kind: type[Any] | None
    """The dataclass that its body must fit; None for a question without a body, by GET."""
    answer: Callable[[Any, Event], Mapping[str, object]]
    """Answers it in a thread; the event is set when nobody waits for the answer any more."""


Routes = Mapping[str, Asked]
"""By path."""


class Outbox:
    """Events on their way from a thread to one page; bounded, whatever the page does."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stop: Event) -> None:
        self.stop = stop
        """Set when nobody reads any more."""
        self._loop = loop
        self._events: deque[Callable[[], Mapping[str, object]]] = deque()
        self._filled = asyncio.Event()
        self._ended = False

    def replace(self, event: Callable[[], Mapping[str, object]]) -> None:
        """Send an event that makes those which still wait superfluous.

        It is written when it is sent, by the reader: a slow page costs the sender nothing.
        """
        self._events.clear()
        self._append(event)

    def send(self, event: Mapping[str, object]) -> None:
        """Send an event that must arrive; waits while the page is slow."""
        while len(self._events) >= MOST_EVENTS and not self.stop.is_set():
            time.sleep(0.02)
        self._append(lambda: event)

    def end(self) -> None:
        """Tell the reader that nothing follows."""
        self._ended = True
        self._loop.call_soon_threadsafe(self._filled.set)

    def _append(self, event: Callable[[], Mapping[str, object]]) -> None:
        if not self.stop.is_set():
            self._events.append(event)
            self._loop.call_soon_threadsafe(self._filled.set)

    async def lines(self) -> AsyncIterator[str]:
        """Yield the events as lines of `text/event-stream`."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._events:
                yield f"data: {json.dumps(self._events.popleft()())}\n\n"
            if self._ended:
                return


@dataclass(frozen=True)
class Streamed:
    """One kind of question that is answered by events."""

    kind: type[Any]
    answer: Callable[[Any, Outbox], None]
    """Answers it in a thread."""


def make_stream_route(path: str, asked: Streamed) -> Route:
    """Make the route of a question that is answered by server-sent events."""

    async def respond(request: Request) -> Response:
        try:
            question = await read_question(request, asked.kind)
        except UserError as error:
            return JSONResponse({"error": str(error)}, 400)
        outbox = Outbox(asyncio.get_running_loop(), Event())

        def work() -> None:
            try:
                asked.answer(question, outbox)
            except UserError as error:
                outbox.send({"error": str(error)})
            except Exception as error:
                print(f"error: {path}: {one_line(error)}", file=sys.stderr)
                outbox.send({"error": f"the server failed: {one_line(error)}"})
            finally:
                outbox.end()

        async def stream() -> AsyncIterator[str]:
            worker = asyncio.create_task(
                anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=_streams())
            )
            try:
                async for line in outbox.lines():
                    yield line
            finally:
                outbox.stop.set()
                worker.cancel()

        return StreamingResponse(stream(), media_type="text/event-stream")

    return Route(path, respond, methods=["POST"])


@cache
def _streams() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(MOST_THREADS)


def make_route(path: str, asked: Asked) -> Route:
    """Make the route of one kind of question."""

    async def respond(request: Request) -> Response:
        try:
            question = None if asked.kind is None else await read_question(request, asked.kind)
            return JSONResponse(await in_thread(request, lambda stop: asked.answer(question, stop)))
        except TooLarge as error:
            return JSONResponse({"error": str(error)}, 413)
        except UserError as error:
            return JSONResponse({"error": str(error)}, 400)
        except Exception as error:
            print(f"error: {path}: {one_line(error)}", file=sys.stderr)
            return JSONResponse({"error": f"the server failed: {one_line(error)}"}, 500)

    return Route(path, respond, methods=["GET" if asked.kind is None else "POST"])


async def read_question(request: Request, kind: type[Any]) -> Any:
    """Read the body of a request; raise `UserError` that names what does not fit."""
    try:
        return pydantic.TypeAdapter(kind).validate_json(await request.body())
    except pydantic.ValidationError as error:
        raise UserError(first_problem(error, whole="question")) from None


@cache
def _threads() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(MOST_THREADS)


async def in_thread(request: Request, work: Callable[[Event], _Answer]) -> _Answer:
    """Do blocking work in a thread; when the page goes away, tell it to stop."""
    stop = Event()

    async def watch() -> None:
        while not await request.is_disconnected():
            await anyio.sleep(0.2)
        stop.set()

    watcher = asyncio.create_task(watch())
    try:
        return await anyio.to_thread.run_sync(
            partial(work, stop), abandon_on_cancel=True, limiter=_threads()
        )
    finally:
        stop.set()
        watcher.cancel()
