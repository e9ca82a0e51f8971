"""Questions of the page and how they are answered: checked, in a thread, given up with the page."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from threading import Event
from typing import Any, TypeVar

import anyio
import pydantic
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from zerogames.engine.fallback import one_line
from zerogames.errors import UserError, first_problem
from zerogames.web.guard import TooLarge

MOST_THREADS = 12
"""Requests that are worked on at once."""

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
