"""The server of the page: routes, files, start and end."""

import contextlib
import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zerogames.cache import user_cache
from zerogames.errors import UserError
from zerogames.runs.net_source import RUNS
from zerogames.web.analyse_routes import AnalyseRoutes
from zerogames.web.asking import Asked, make_route, make_stream_route
from zerogames.web.game_line import GameLines
from zerogames.web.guard import Guard
from zerogames.web.opponents import Opponents
from zerogames.web.play_routes import PlayRoutes
from zerogames.web.run_routes import RunRoutes

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, kw_only=True)
class WebSettings:
    """What the command line says."""

    game: str = "chess"
    """The game that the page begins with."""
    nets: Sequence[str] = ()
    runs_folder: Path = RUNS
    """The folder in which runs are looked for."""
    runs: Sequence[Path] = ()
    """Further runs."""
    threads: int = 1
    precision: str = "fp32"
    seed: int = 0


def make_app(settings: WebSettings, token: str) -> Guard:
    """Make the application; every path begins with the token."""
    opponents = Opponents(
        nets=settings.nets,
        threads=settings.threads,
        precision=settings.precision,
        seed=settings.seed,
    )
    lines = GameLines()
    asked = dict(PlayRoutes(lines, opponents, settings.game).routes)
    session = secrets.token_hex(8)
    asked["hello"] = Asked(None, lambda question, stop: {"session": session})
    analysis = AnalyseRoutes(lines, opponents)
    asked |= analysis.routes
    asked |= RunRoutes(lines, settings.runs_folder, settings.runs).routes
    routes = [make_route(f"/api/{name}", one) for name, one in asked.items()]
    routes += [make_stream_route(f"/api/{name}", one) for name, one in analysis.streams.items()]
    return Guard(Starlette(routes=[*routes, *_file_routes()]), token)


def _file_routes() -> list[Route]:
    """Serve our own files, by name: what the page asks for never becomes a path."""
    routes = []
    for file in sorted(_STATIC.iterdir()):
        if file.suffix in _TYPES:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            routes.append(_file_route(path, file.read_bytes(), _TYPES[file.suffix]))
    return routes


def _file_route(path: str, content: bytes, kind: str) -> Route:
    async def respond(request: Request) -> Response:
        return Response(content, media_type=kind)

    return Route(path, respond)


def stored_token(*, new: bool = False) -> str:
    """Return the secret of this user's addresses, so that an open page survives a new start.

    It is kept in a file that only the user can read; where that is impossible it is new each time.
    """
    path = user_cache() / "zerogames" / "web-token"
    if new:
        path.unlink(missing_ok=True)
    token = secrets.token_urlsafe(24)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w") as stream:
                stream.write(token)
        if path.stat().st_mode & 0o077 == 0 and len(found := path.read_text().strip()) >= 32:
            return found
    return token


def open_socket(port: int) -> socket.socket:
    """Listen on loopback at the port, or at a free one if it is 0."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise UserError(
            f"--port {port}: {error.strerror}; give another one, or 0 for any that is free"
        ) from None
    return listener


def serve(settings: WebSettings, listener: socket.socket, token: str, *, show: bool) -> None:
    """Serve until Ctrl-C; `show` opens the page in the user's browser."""
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
    app = make_app(settings, token)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=200,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=65536,
    )
    listener.listen(128)
    print(f"{address}\nCtrl-C ends the server.", flush=True)
    if show and (sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
        webbrowser.open(address)
    uvicorn.Server(config).run(sockets=[listener])
