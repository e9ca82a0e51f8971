"""What stands before every request: who may ask, how much and how often.

The server listens on loopback, but any page in the same browser, and any program of another user of
the machine, can send requests there. So a secret token is the first part of every path; `Host` must
be a name of loopback, against names that an attacker rebinds to it; `Origin` must be this server,
against forged requests; and the answers forbid scripts and frames but our own.
"""

import json
import re
import secrets
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zerogames.errors import UserError

LARGEST_BODY = 12_000_000
"""Bytes; a game collection of 10 MB and its envelope."""
REQUESTS_PER_S = 100
LARGEST_BURST = 400
"""Requests of all pages together; a page that is open asks for a few a minute."""

_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class TooLarge(UserError):
    """A body beyond `LARGEST_BODY`."""

    def __init__(self) -> None:
        super().__init__(f"That is too large: {LARGEST_BODY // 1_000_000} MB is the most.")


class RateLimit:
    """A bucket of requests that fills with time."""

    def __init__(self, per_s: float, burst: float, now: Callable[[], float] = time.monotonic):
        self._per_s, self._burst, self._now = per_s, burst, now
        self._left, self._at = burst, now()

    def take(self) -> bool:
        """Take one request; false if there is none left."""
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Guard:
    """Lets requests with the token through to `app`, with the token taken out of their paths."""

    def __init__(self, app: ASGIApp, token: str, rate: RateLimit | None = None) -> None:
        self._app = app
        self._token = token
        self._rate = rate or RateLimit(REQUESTS_PER_S, LARGEST_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        status, reason = self._refusal(scope)
        if status:
            await _refuse(answer, status, reason)
            return
        inner = {**scope, "path": scope["path"].removeprefix(f"/{self._token}") or "/"}
        inner.pop("raw_path", None)
        await self._app(inner, _bounded(receive), answer)

    def _refusal(self, scope: Scope) -> tuple[int, str]:
        """Return the status and the reason of a refusal, or 0."""
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if not _LOOPBACK.fullmatch(host):
            return 403, "This server answers to the names of loopback only."
        first = scope["path"].split("/", 2)[1] if "/" in scope["path"] else ""
        if not secrets.compare_digest(first.encode(), self._token.encode()):
            return 403, "Open the address that `zerogames web` printed; it holds a secret."
        origin = headers.get(b"origin")
        same_site = headers.get(b"sec-fetch-site", "none") in ("none", "same-origin")
        if not same_site or origin not in (None, f"http://{host}"):
            return 403, "A page of another origin asks."
        if scope["method"] not in ("GET", "HEAD"):
            if scope["method"] != "POST":
                return 405, "Only GET and POST are answered."
            # A form of another page can send other types without asking; this one it cannot.
            if headers.get(b"content-type", "").partition(";")[0] != "application/json":
                return 415, "Send JSON."
        length = headers.get(b"content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return 413, str(TooLarge())
        if not self._rate.take():
            return 429, "Too many requests; wait a second."
        return 0, ""


def _bounded(receive: Receive) -> Receive:
    """Count the bytes of a body, whatever its header said."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_BODY:
            raise TooLarge()
        return message

    return bounded


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"error": reason}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
